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
{{- if and .Values.worker.enabled (not .Values.api.enabled) -}}
{{- fail "worker.enabled needs api.enabled: a worker belongs into the release of the API whose events it delivers." -}}
{{- end -}}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" (include "tunnel-operator.fullname" .)) -}}
{{- fail (printf "%s cannot be the name of a Service, which starts with a letter and has no dot: give the release another name, or set fullnameOverride." (include "tunnel-operator.fullname" .)) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- fail "serviceMonitor.enabled and podMonitor.enabled would scrape everything twice: set one of them." -}}
{{- end -}}
{{- if and .Values.operator.enabled (not .Values.api.enabled) (not .Values.operator.apiUrl) -}}
{{- fail "Without api.enabled, the operator needs operator.apiUrl, and operator.apiKey.existingSecret with a key for that API." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.operator.apiUrl (not .Values.operator.apiKey.existingSecret) (not .Values.secrets.existingSecret) (not .Values.api.enabled) -}}
{{- fail "operator.apiUrl names an API outside this release: set operator.apiKey.existingSecret to a Secret with a key for it." -}}
{{- end -}}
{{- /* A shard without the API may have the values of the release whose key it uses. */}}
{{- if and .Values.api.enabled .Values.operator.apiKey.existingSecret (not .Values.operator.apiKey.admin) -}}
{{- fail "operator.apiKey.admin=false makes a key that the operator would not use, since operator.apiKey.existingSecret names another: set one of them. A key of yours has the rights of its owner." -}}
{{- end -}}
{{- if and .Values.crds.enabled (not .Values.crds.keep) (not .Values.operator.enabled) -}}
{{- fail "crds.keep=false deletes all objects before an uninstall, which needs a running operator: set operator.enabled or crds.keep." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.rbac.create (not .Values.operator.serviceAccount.create) (not .Values.operator.serviceAccount.name) -}}
{{- fail "operator.serviceAccount.create=false needs operator.serviceAccount.name: otherwise every Pod in the namespace that uses the default account would get the operator's rights." -}}
{{- end -}}
{{- range $component, $fixed := dict "api" (list "HOST" "PORT" "METRICS_PORT") "worker" (list "METRICS_HOST" "METRICS_PORT") "operator" (list "METRICS_HOST" "METRICS_PORT") -}}
{{- range (index $.Values $component).extraEnv -}}
{{- if has .name $fixed -}}
{{- fail (printf "%s.extraEnv cannot set %s: probes, Services and NetworkPolicies rely on the chart's addresses and ports." $component .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* A user without cluster-wide rights may not list CustomResourceDefinitions, and has installed none. */}}
{{- if and (not .Values.crds.enabled) .Release.IsUpgrade -}}
{{- $mayLook := and .Values.rbac.create (not .Values.watchNamespaces) -}}
{{- $operator := lookup "apps/v1" "Deployment" .Release.Namespace (printf "%s-operator" (include "tunnel-operator.fullname" .)) -}}
{{- if or $mayLook (get (($operator.metadata).annotations | default dict) (include "tunnel-operator.takesCrdsAlong" .)) -}}
{{- range (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $isOurs := include "tunnel-operator.isOfThisRelease" (list $ .) -}}
{{- if and (eq .spec.group "tunnel-operator.dev") $isOurs (ne (get $annotations "helm.sh/resource-policy") "keep") -}}
{{- fail (printf "crds.enabled=false would delete %s, which this release installed, and all its objects: upgrade with crds.keep=true first." .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.watchNamespaces .Values.watchNamespaceSelector -}}
{{- fail "set watchNamespaces or watchNamespaceSelector, not both." -}}
{{- end -}}
{{- include "tunnel-operator.refuseSecondOperator" . -}}
{{- end -}}
