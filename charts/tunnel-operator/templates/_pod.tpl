{{/* Scheduling and image pull secrets of a Pod. Called with a list: the root, the component's values. */}}
{{- define "tunnel-operator.scheduling" -}}
{{- $placement := pick (index . 1) "nodeSelector" "tolerations" "affinity" -}}
{{- with (index . 0).Values.global -}}
{{- $_ := set $placement "priorityClassName" .priorityClassName -}}
{{- $secrets := list -}}
{{- range .imagePullSecrets -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- $_ := set $placement "imagePullSecrets" $secrets -}}
{{- end -}}
{{- range $key, $value := $placement -}}
{{- if not $value -}}{{- $_ := unset $placement $key -}}{{- end -}}
{{- end -}}
{{- /* The Pods use no Service variables, and a Service named metrics would set METRICS_PORT. */}}
{{- $_ := set $placement "enableServiceLinks" false -}}
{{- toYaml $placement -}}
{{- end -}}

{{/*
The Pods of hooks may run on the operator's nodes. Its pod affinity does not apply: it is meant for replicas and could
leave a hook without a node.
*/}}
{{- define "tunnel-operator.hookScheduling" -}}
{{- $operator := pick .Values.operator "nodeSelector" "tolerations" -}}
{{- with (.Values.operator.affinity).nodeAffinity -}}
{{- $_ := set $operator "affinity" (dict "nodeAffinity" .) -}}
{{- end -}}
{{- include "tunnel-operator.scheduling" (list . $operator) -}}
{{- end -}}

{{/* Fields of every Pod. Called with a list: the root, the component's values, the component. */}}
{{- define "tunnel-operator.podSpec" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{ include "tunnel-operator.scheduling" (list $root $values) }}
securityContext:
  {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
topologySpreadConstraints:
{{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "tunnel-operator.selectorLabels" (list $root (index $ 2)) | nindent 8 }}
    # Pods that an upgrade is replacing do not count.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}
