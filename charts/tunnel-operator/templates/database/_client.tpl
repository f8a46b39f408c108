{{- define "tunnel-operator.databaseEnv" -}}
{{ include "tunnel-operator.secretEnv" (list . "DATABASE_URL" (include "tunnel-operator.databaseSecret" .)) }}
{{- end -}}

{{/*
A checksum that changes with the URL of the database. A reader of Pods must not be able to guess passwords with it, so it
includes the encryption key. While that key is unknown, it leaves out user, password and parameters.
*/}}
{{- define "tunnel-operator.databaseChecksum" -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace (include "tunnel-operator.secretName" .) -}}
{{- $key := get ($secret.data | default dict) "encryption-key" -}}
{{- $whereabouts := regexReplaceAll "^[^:]+://([^/?#]*@)?([^?#]*).*$" .Values.database.url "${2}" -}}
{{- $key | empty | not | ternary (print $key .Values.database.url) $whereabouts | sha256sum -}}
{{- end -}}

{{/* The annotations of a Pod that uses the database, or nothing. Called with a list: the root, the component's values. */}}
{{- define "tunnel-operator.databasePodAnnotations" -}}
{{- $annotations := (index . 1).podAnnotations -}}
{{- if (index . 0).Values.database.url -}}
{{- /* Restarts the Pods when the URL changes: they do not notice a changed Secret. */}}
{{- $annotations = merge (dict "checksum/database" (include "tunnel-operator.databaseChecksum" (index . 0))) $annotations -}}
{{- end -}}
{{- with $annotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* What runs in a Pod before a program that uses the database. Called with a list: the root, the component. */}}
{{- define "tunnel-operator.databaseInitContainers" -}}
{{- with (index (index . 0).Values (index . 1)).extraInitContainers -}}
{{- toYaml . }}
{{ end -}}
# Runs in every Pod: the first one migrates, and the others wait for it and find nothing to do.
- name: migrate
  args: [migrate, --wait, 5m]
  {{- include "tunnel-operator.container" (list (index . 0) (index . 1) (include "tunnel-operator.databaseEnv" (index . 0))) | nindent 2 }}
{{- end -}}
