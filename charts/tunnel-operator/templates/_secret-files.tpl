{{/* A variable with a secret, or with its file. Called with a list: the root, the variable, the Secret and the key as YAML. */}}
{{- define "tunnel-operator.secretEnv" -}}
{{- if (index . 0).Values.secrets.mountAsFiles -}}
- name: {{ index . 1 }}_FILE
  value: {{ include "tunnel-operator.secretsPath" . }}/{{ index . 1 }}
{{- else -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      {{- index . 2 | nindent 6 }}
{{- end -}}
{{- end -}}

{{- define "tunnel-operator.secretsPath" -}}
/run/secrets/tunnel-operator
{{- end -}}

{{/* The Secret of the API's own keys, and one of them. Called with a list: the root, the key. */}}
{{- define "tunnel-operator.ownSecret" -}}
name: {{ include "tunnel-operator.secretName" (index . 0) | quote }}
key: {{ index . 1 }}
{{- end -}}

{{/* The Secret and the key of the headers for traces; empty without one. */}}
{{- define "tunnel-operator.headersSecret" -}}
{{- with .Values.tracing -}}
{{- if and .endpoint .headers.existingSecret -}}
name: {{ .headers.existingSecret | quote }}
key: {{ .headers.existingSecretKey | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The mounts of a container, as a list or nothing. Called with a list: the root, those of the user. */}}
{{- define "tunnel-operator.volumeMounts" -}}
{{- $mounts := index . 1 -}}
{{- if (index . 0).Values.secrets.mountAsFiles -}}
{{- $mounts = prepend $mounts (dict "name" "secrets" "mountPath" (include "tunnel-operator.secretsPath" .) "readOnly" true) -}}
{{- end -}}
{{- with $mounts -}}
volumeMounts:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/*
The volumes of a Pod, as a list or nothing. Called with a list: the root, those of the user, and for each variable with a
secret the Secret and the key as YAML.
*/}}
{{- define "tunnel-operator.volumes" -}}
{{- $volumes := index . 1 -}}
{{- if (index . 0).Values.secrets.mountAsFiles -}}
{{- $sources := list -}}
{{- range $variable, $secret := index . 2 -}}
{{- with fromYaml $secret -}}
{{- $items := list (dict "key" .key "path" $variable) -}}
{{- $sources = append $sources (dict "secret" (dict "name" .name "items" $items)) -}}
{{- end -}}
{{- end -}}
{{- $volumes = prepend $volumes (dict "name" "secrets" "projected" (dict "sources" $sources)) -}}
{{- end -}}
{{- with $volumes -}}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
