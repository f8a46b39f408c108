{{/*
Scheduling, image pull secrets and DNS of a Pod. Called with a list: the root, the component's values, which win over
those of `global`.
*/}}
{{- define "tunnel-operator.scheduling" -}}
{{- $values := index . 1 -}}
{{- $global := (index . 0).Values.global -}}
{{- $keys := list "nodeSelector" "tolerations" "affinity" "runtimeClassName" "schedulerName" "dnsPolicy" "dnsConfig" "hostAliases" -}}
{{- $placement := dict -}}
{{- range $keys -}}{{- $_ := set $placement . (get $values .) -}}{{- end -}}
{{- $_ := set $placement "priorityClassName" ($values.priorityClassName | default $global.priorityClassName) -}}
{{- $secrets := list -}}
{{- range $values.imagePullSecrets | default $global.imagePullSecrets -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- $_ := set $placement "imagePullSecrets" $secrets -}}
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
{{- $operator := omit .Values.operator "affinity" -}}
{{- with (.Values.operator.affinity).nodeAffinity -}}
{{- $_ := set $operator "affinity" (dict "nodeAffinity" .) -}}
{{- end -}}
{{- include "tunnel-operator.scheduling" (list . $operator) -}}
{{- end -}}

{{/* Fields of the Pods of a component. Called with a list: the root, the component. */}}
{{- define "tunnel-operator.podSpec" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
serviceAccountName: {{ include "tunnel-operator.serviceAccountName" . | quote }}
{{ include "tunnel-operator.scheduling" (list $root $values) }}
securityContext:
  {{- include "tunnel-operator.podSecurity" (list $root $values) | nindent 2 }}
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
        {{- include "tunnel-operator.selectorLabels" $ | nindent 8 }}
    # Pods that an upgrade is replacing do not count.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}
