{{/* The security context of a Pod. Called with a list: the root, the component's values, optionally fields of the chart. */}}
{{- define "tunnel-operator.podSecurity" -}}
{{- include "tunnel-operator.overlaid" (concat (list (index . 0).Values.podSecurityContext) (slice . 2) (list (index . 1).podSecurityContext)) -}}
{{- end -}}

{{/* The security context of a container. Called with a list: the root, the component's values. */}}
{{- define "tunnel-operator.containerSecurity" -}}
{{- include "tunnel-operator.overlaid" (list (index . 0).Values.containerSecurityContext (index . 1).containerSecurityContext) -}}
{{- end -}}

{{/* Called with a list of maps: later fields replace earlier ones, and null removes them. */}}
{{- define "tunnel-operator.overlaid" -}}
{{- $all := dict -}}
{{- range . -}}
{{- range $key, $value := . -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $all $key -}}
{{- else -}}{{- $_ := set $all $key $value -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}
