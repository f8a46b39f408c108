{{/*
The environment of a container: the chart's own variables, overridden by extraEnv, where a secret may be given as a file
instead. Each name appears once, since a server-side apply rejects duplicates. Called with a list: the chart's own as
YAML, extraEnv.
*/}}
{{- define "tunnel-operator.env" -}}
{{- $extra := index . 1 | default list -}}
{{- $overridden := list -}}
{{- range $extra }}{{- $overridden = concat $overridden (list .name (trimSuffix "_FILE" .name) (print .name "_FILE")) -}}{{- end -}}
{{- $env := list -}}
{{- range index . 0 | fromYamlArray -}}
{{- if not (has .name $overridden) -}}{{- $env = append $env . -}}{{- end -}}
{{- end -}}
{{- toYaml (concat $env $extra) -}}
{{- end -}}

{{/* Where to send traces, and which Pod they come from. */}}
{{- define "tunnel-operator.tracingEnv" -}}
{{- with .Values.tracing -}}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
{{- if .headers.existingSecret }}
{{ include "tunnel-operator.secretEnv" (list $ "OTEL_EXPORTER_OTLP_HEADERS" (include "tunnel-operator.headersSecret" $)) }}
{{- end }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  # Without an exponent, which the programs do not accept.
  value: {{ regexReplaceAll "[.]?0+$" (printf "%.12f" (float64 .samplingRatio)) "" | quote }}
- name: TRACED_POD
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.Release.Namespace }},k8s.pod.name=$(TRACED_POD),service.instance.id=$(TRACED_POD)
{{- end }}
{{- end -}}
