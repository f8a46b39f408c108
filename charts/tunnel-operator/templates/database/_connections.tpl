{{/*
The connections that the chart's own database must allow for the API and the worker, as counted in docs/high-availability.md.
Rounded up to hundreds (PostgreSQL's default is 100): a new number restarts PostgreSQL, and adding a replica should rarely
do that.
*/}}
{{- define "tunnel-operator.maxConnections" -}}
{{- $replicas := .Values.api.autoscaling.enabled | ternary .Values.api.autoscaling.maxReplicas .Values.api.replicaCount -}}
{{- $needed := add 10 (include "tunnel-operator.connectionsOf" (list .Values.api $replicas)) -}}
{{- with .Values.worker -}}
{{- if .enabled -}}{{- $needed = add $needed (include "tunnel-operator.connectionsOf" (list . .replicaCount)) -}}{{- end -}}
{{- end -}}
{{- mul 100 (div (add $needed 99) 100) -}}
{{- end -}}

{{/* Called with a list: the component's values, its number of Pods. */}}
{{- define "tunnel-operator.connectionsOf" -}}
{{- $poolSize := 20 -}}
{{- range (index . 0).extraEnv -}}
{{- if eq .name "DATABASE_POOL_SIZE" -}}{{- $poolSize = int .value | default $poolSize -}}{{- end -}}
{{- end -}}
{{- mul (add (index . 1) 1) (add $poolSize 1) -}}
{{- end -}}
