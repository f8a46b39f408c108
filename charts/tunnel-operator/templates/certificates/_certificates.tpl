{{/* The component whose Pods issue certificates and answer challenges over DNS. */}}
{{- define "tunnel-operator.issuer" -}}
{{- ternary "worker" "api" .Values.worker.enabled -}}
{{- end -}}

{{/* Settings of automatic certificates for the Pods that issue them; empty if none are issued. */}}
{{- define "tunnel-operator.issuerEnv" -}}
{{- with .Values.certificates }}
{{- if .directoryUrl }}
- name: ACME_DIRECTORY_URL
  value: {{ .directoryUrl | quote }}
{{- with .contacts }}
- name: ACME_CONTACT
  value: {{ join "," . | quote }}
{{- end }}
{{- with .profile }}
- name: ACME_PROFILE
  value: {{ . | quote }}
{{- end }}
{{- with .trustedCertificates }}
- name: ACME_TRUSTED_CERTIFICATES
  value: {{ . | quote }}
{{- end }}
{{- if not .selfCheck }}
- name: ACME_SELF_CHECK
  value: 'false'
{{- end }}
{{- with .resolvers }}
- name: ACME_RESOLVERS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .externalAccount }}
{{- if ne (empty .keyId) (empty .existingSecret) }}
{{- fail "certificates.externalAccount: keyId and existingSecret belong together" }}
{{- end }}
{{- if .keyId }}
- name: ACME_EXTERNAL_KEY_ID
  value: {{ .keyId | quote }}
{{ include "tunnel-operator.secretEnv" (list $ "ACME_EXTERNAL_HMAC_KEY" (include "tunnel-operator.externalAccountSecret" $)) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .dns.nameServers }}
- name: ACME_DNS_NAMESERVERS
  value: {{ join "," . | quote }}
- name: ACME_DNS_HOST
  value: '::'
- name: ACME_DNS_PORT
  value: '5353'
{{- end }}
{{- end }}
{{- end -}}

{{/* Where the key of the external account is; empty if there is none. */}}
{{- define "tunnel-operator.externalAccountSecret" -}}
{{- with .Values.certificates.externalAccount -}}
{{- if .existingSecret -}}
name: {{ .existingSecret | quote }}
key: {{ .existingSecretKey | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Ports of containers that answer over DNS. Called with a list: the root, the component. */}}
{{- define "tunnel-operator.dnsPorts" -}}
{{- $root := index . 0 -}}
{{- if and $root.Values.certificates.dns.nameServers (eq (index . 1) (include "tunnel-operator.issuer" $root)) -}}
- { name: dns-udp, containerPort: 5353, protocol: UDP }
- { name: dns-tcp, containerPort: 5353 }
{{- end -}}
{{- end -}}
