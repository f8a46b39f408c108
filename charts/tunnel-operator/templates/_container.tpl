{{/*
Fields of a container with our program in a Pod of a component. Called with a list: the root, the component, its environment
as YAML.
*/}}
{{- define "tunnel-operator.container" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
image: {{ include "tunnel-operator.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
env:
  {{- include "tunnel-operator.env" (list (index . 2) $values.extraEnv) | nindent 2 }}
{{- with $values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
securityContext:
  {{- include "tunnel-operator.containerSecurity" (list $root $values) | nindent 2 }}
{{ include "tunnel-operator.volumeMounts" (list $root $values.extraVolumeMounts) }}
{{- end -}}

{{/*
The probes of a container, unless a value is null. The first start on a busy node may take long; the other probes wait for it.
Only readiness depends on anything else, so that Pods are not killed while a database or an API is down. Called with a
list: the component's values, the port to ask.
*/}}
{{- define "tunnel-operator.probes" -}}
{{- $values := index . 0 -}}
{{- $port := index . 1 -}}
{{- $probes := dict -}}
{{- range $name, $path := dict "startupProbe" "/healthz" "readinessProbe" "/readyz" "livenessProbe" "/healthz" -}}
{{- $given := get $values $name -}}
{{- $handler := dict "httpGet" (dict "path" $path "port" $port) -}}
{{- if not (kindIs "map" $given) -}}{{- continue -}}{{- end -}}
{{- if or $given.exec $given.grpc $given.httpGet $given.tcpSocket -}}{{- $handler = dict -}}{{- end -}}
{{- $_ := set $probes $name (merge $handler $given) -}}
{{- end -}}
{{- with $probes }}{{ toYaml . }}{{- end -}}
{{- end -}}

{{/*
How a Deployment replaces its Pods. Called with the component's values. Without the null, an upgrade to Recreate would fail on
the parameters that the server has kept.
*/}}
{{- define "tunnel-operator.rollout" -}}
revisionHistoryLimit: {{ .revisionHistoryLimit }}
{{- with .strategy }}
strategy:
  type: {{ .type }}
  rollingUpdate: {{ eq .type "Recreate" | ternary nil .rollingUpdate | toJson }}
{{- end }}
{{- end -}}
