{{- define "tunnel-operator.apiUrl" -}}
{{- .Values.operator.apiUrl | default (printf "http://%s-api.%s.svc:%v" (include "tunnel-operator.fullname" .) .Release.Namespace .Values.api.service.port) -}}
{{- end -}}

{{/* The port of a URL. */}}
{{- define "tunnel-operator.portOf" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (eq $url.scheme "https" | ternary "443" "80") -}}
{{- end -}}

{{/* The port of a PostgreSQL URL: a `port` parameter overrides the port after the host. */}}
{{- define "tunnel-operator.databasePortOf" -}}
{{- $host := regexReplaceAll "^[^:]+://([^/?#]*@)?([^/?#@]*).*$" . "${2}" -}}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" | default "5432" -}}
{{- regexFind "[?&]port=[0-9]+" . | regexFind "[0-9]+" | default $port -}}
{{- end -}}
