{{/* Labels and longer names are made from this name, and they are limited to 63 characters. */}}
{{- define "tunnel-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "tunnel-operator.fullname" -}}
{{- $name := include "tunnel-operator.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A StatefulSet creates no Pods if its name exceeds 52 characters; CloudNativePG allows 50. */}}
{{- define "tunnel-operator.databaseName" -}}
{{- include "tunnel-operator.fullname" . | trunc 41 | trimSuffix "-" }}-database
{{- end -}}

{{/*
The labels of an object. Called with a list: the root, the component, and optionally maps of further labels. If a key
repeats, the chart's own label wins, then the object's, then commonLabels.
*/}}
{{- define "tunnel-operator.labels" -}}
{{- $root := index . 0 -}}
{{- $labels := include "tunnel-operator.selectorLabels" . | fromYaml -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- $_ := set $labels "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" (include "tunnel-operator.name" $root) -}}
{{- range compact (slice . 2) -}}{{- $_ := merge $labels . -}}{{- end -}}
{{- toYaml (merge $labels ($root.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* The labels of a component's Pods. Called with a list: the root, the component. */}}
{{- define "tunnel-operator.podLabels" -}}
{{- $root := index . 0 -}}
{{- $own := include "tunnel-operator.selectorLabels" . | fromYaml -}}
{{- $given := (index $root.Values (index . 1)).podLabels | default dict -}}
{{- toYaml (merge $own $given ($root.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* The components that are enabled, as JSON. */}}
{{- define "tunnel-operator.components" -}}
{{- $enabled := list -}}
{{- range list "api" "worker" "operator" -}}
{{- if (index $.Values .).enabled -}}{{- $enabled = append $enabled . -}}{{- end -}}
{{- end -}}
{{- toJson $enabled -}}
{{- end -}}

{{- define "tunnel-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tunnel-operator.name" (index . 0) | quote }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "tunnel-operator.image" -}}
{{- with .Values.image -}}
{{- with .registry -}}{{ trimSuffix "/" . }}/{{- end -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Called with a list: the root, the component. */}}
{{- define "tunnel-operator.serviceAccountName" -}}
{{- $root := index . 0 -}}
{{- $account := (index $root.Values (index . 1)).serviceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (printf "%s-%s" (include "tunnel-operator.fullname" $root) (index . 1)) -}}
{{- else -}}
{{- $account.name | default "default" -}}
{{- end -}}
{{- end -}}
