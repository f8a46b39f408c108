{{- define "tunnel-operator.secretName" -}}
{{- .Values.secrets.existingSecret | default (include "tunnel-operator.fullname" .) -}}
{{- end -}}

{{/*
True if a Secret with random values must still be created. Called with a list: the root, its name, its keys. A hook
creates it, and only if it does not exist: as part of a revision's manifest, a rollback would restore its old values.
*/}}
{{- define "tunnel-operator.mustMakeSecret" -}}
{{- $name := index . 1 -}}
{{- $secret := lookup "v1" "Secret" (index . 0).Release.Namespace $name -}}
{{- range index . 2 -}}
{{- if and $secret (not (get ($secret.data | default dict) .)) -}}
{{- fail (printf "the Secret %s lacks the key %s: add the key, or delete the Secret if it is no longer needed" $name .) -}}
{{- end -}}
{{- end -}}
{{- if not $secret -}}true{{- end -}}
{{- end -}}

{{/*
The annotations of such a Secret. `keep` is for revisions whose manifest still contained it. By default, a hook deletes
any existing object of its name, such as a Secret restored in the meantime; with this policy, Helm fails instead. It
deletes only a Secret that it has just created, when the installation or upgrade fails.
*/}}
{{- define "tunnel-operator.madeOnce" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-delete-policy: hook-failed
helm.sh/resource-policy: keep
{{- end -}}

{{/* The Secret and the key of DATABASE_URL. */}}
{{- define "tunnel-operator.databaseSecret" -}}
{{- with .Values.database -}}
{{- if .existingSecret -}}
name: {{ .existingSecret | quote }}
key: {{ .existingSecretKey | quote }}
{{- else if .cloudNativePG.enabled -}}
name: {{ include "tunnel-operator.databaseName" $ }}-app
key: uri
{{- else if .bundled.enabled -}}
name: {{ include "tunnel-operator.databaseName" $ }}
key: url
{{- else -}}
name: {{ include "tunnel-operator.fullname" $ }}-database-url
key: url
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The Secret and the key of an API key that only the operator uses; empty if it uses the bootstrap key or one of the user.
Apart from the API's own keys, so that a release of an earlier version, whose Secret lacks this one, can switch to it.
*/}}
{{- define "tunnel-operator.operatorKeySecret" -}}
{{- with .Values.operator.apiKey -}}
{{- if not (or .existingSecret .admin) -}}
name: {{ $.Values.secrets.existingSecret | default (printf "%s-operator-key" (include "tunnel-operator.fullname" $)) | quote }}
key: operator-api-key
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Secret and the key of the operator's API key. */}}
{{- define "tunnel-operator.apiKeySecret" -}}
{{- with .Values.operator.apiKey -}}
{{- if .existingSecret -}}
name: {{ .existingSecret | quote }}
key: {{ .existingSecretKey | quote }}
{{- else -}}
{{- include "tunnel-operator.operatorKeySecret" $ | default (include "tunnel-operator.ownSecret" (list $ "bootstrap-api-key")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
