{{/* Names end up in names of other objects and in labels, which may have 63 characters. */}}
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

{{/* Called with a list: the root, the component. */}}
{{- define "tunnel-operator.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{ include "tunnel-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: {{ include "tunnel-operator.name" $root }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tunnel-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tunnel-operator.name" (index . 0) }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "tunnel-operator.image" -}}
{{- with .Values.image -}}
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

{{- define "tunnel-operator.secretName" -}}
{{- .Values.secrets.existingSecret | default (include "tunnel-operator.fullname" .) -}}
{{- end -}}

{{/* The Secret and the key of DATABASE_URL. */}}
{{- define "tunnel-operator.databaseSecret" -}}
{{- $fullname := include "tunnel-operator.fullname" . -}}
{{- with .Values.database -}}
{{- if .existingSecret -}}
name: {{ .existingSecret }}
key: {{ .existingSecretKey }}
{{- else if .cloudNativePG.enabled -}}
name: {{ $fullname }}-database-app
key: uri
{{- else -}}
name: {{ $fullname }}-database
key: url
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Secret and the key of the operator's API key. */}}
{{- define "tunnel-operator.apiKeySecret" -}}
{{- with .Values.operator.apiKey -}}
{{- if .existingSecret -}}
name: {{ .existingSecret }}
key: {{ .existingSecretKey }}
{{- else -}}
name: {{ include "tunnel-operator.secretName" $ }}
key: bootstrap-api-key
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tunnel-operator.apiUrl" -}}
{{- .Values.operator.apiUrl | default (printf "http://%s-api.%s.svc:%v" (include "tunnel-operator.fullname" .) .Release.Namespace .Values.api.service.port) -}}
{{- end -}}

{{/* Contradictions that the schema cannot express. */}}
{{- define "tunnel-operator.validate" -}}
{{- with .Values.database -}}
{{- $given := 0 -}}
{{- range list .existingSecret .url .bundled.enabled .cloudNativePG.enabled -}}
{{- if . -}}{{- $given = add1 $given -}}{{- end -}}
{{- end -}}
{{- if and $.Values.api.enabled (ne (int $given) 1) -}}
{{- fail "The API needs a database: set exactly one of database.existingSecret, database.url, database.bundled.enabled (for trying out) and database.cloudNativePG.enabled." -}}
{{- end -}}
{{- end -}}
{{- if and .Values.operator.enabled (not .Values.api.enabled) (not .Values.operator.apiUrl) -}}
{{- fail "Without api.enabled, the operator needs operator.apiUrl, and operator.apiKey.existingSecret with a key of that API." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.operator.apiUrl (not .Values.operator.apiKey.existingSecret) (not .Values.secrets.existingSecret) (not .Values.api.enabled) -}}
{{- fail "operator.apiUrl names an API of somebody else: set operator.apiKey.existingSecret to a Secret with a key of it." -}}
{{- end -}}
{{- if and .Values.crds.enabled (not .Values.crds.keep) (not .Values.operator.enabled) -}}
{{- fail "crds.keep=false deletes all objects before uninstalling, which only a running operator can finish: set operator.enabled or crds.keep." -}}
{{- end -}}
{{- end -}}

{{/* Where traces are sent, and which Pod they are of. */}}
{{- define "tunnel-operator.tracingEnv" -}}
{{- with .Values.tracing -}}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
{{- if .headers.existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef: { name: {{ .headers.existingSecret }}, key: {{ .headers.existingSecretKey }} }
{{- end }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .samplingRatio | quote }}
- name: TRACED_POD
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.Release.Namespace }},k8s.pod.name=$(TRACED_POD),service.instance.id=$(TRACED_POD)
{{- end }}
{{- end -}}

{{/* What all Pods have. Called with a list: the root, the component's values, the component. */}}
{{- define "tunnel-operator.podSpec" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- with $root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.global.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
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
{{- end }}
{{- end }}
{{- end -}}
