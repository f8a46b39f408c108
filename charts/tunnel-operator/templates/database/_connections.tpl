{{/*
The connections that the chart's own database must allow for the API, as counted in docs/high-availability.md. Rounded up
to hundreds (PostgreSQL's default is 100): a new number restarts PostgreSQL, and adding a replica should rarely do that.
*/}}
{{- define "tunnel-operator.maxConnections" -}}
{{- $poolSize := 20 -}}
{{- range .Values.api.extraEnv -}}
{{- if eq .name "DATABASE_POOL_SIZE" -}}{{- $poolSize = int .value | default $poolSize -}}{{- end -}}
{{- end -}}
{{- $replicas := .Values.api.autoscaling.enabled | ternary .Values.api.autoscaling.maxReplicas .Values.api.replicaCount | int -}}
{{- $needed := add (mul (add $replicas 1) (add $poolSize 1)) 10 -}}
{{- mul 100 (div (add $needed 99) 100) -}}
{{- end -}}
