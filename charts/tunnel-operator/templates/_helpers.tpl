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
{{- range slice . 2 -}}{{- $_ := merge $labels . -}}{{- end -}}
{{- toYaml (merge $labels $root.Values.commonLabels) -}}
{{- end -}}

{{/* The labels of an API or operator Pod. Called with a list: the root, the component. */}}
{{- define "tunnel-operator.podLabels" -}}
{{- $root := index . 0 -}}
{{- $own := include "tunnel-operator.selectorLabels" . | fromYaml -}}
{{- toYaml (merge $own (index $root.Values (index . 1)).podLabels $root.Values.commonLabels) -}}
{{- end -}}

{{- define "tunnel-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tunnel-operator.name" (index . 0) | quote }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
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

{{/* The Secret and the key of the operator's API key. */}}
{{- define "tunnel-operator.apiKeySecret" -}}
{{- with .Values.operator.apiKey -}}
{{- if .existingSecret -}}
name: {{ .existingSecret | quote }}
key: {{ .existingSecretKey | quote }}
{{- else -}}
name: {{ include "tunnel-operator.secretName" $ | quote }}
key: bootstrap-api-key
{{- end -}}
{{- end -}}
{{- end -}}

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
{{- fail "Without api.enabled, the operator needs operator.apiUrl, and operator.apiKey.existingSecret with a key for that API." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.operator.apiUrl (not .Values.operator.apiKey.existingSecret) (not .Values.secrets.existingSecret) (not .Values.api.enabled) -}}
{{- fail "operator.apiUrl names an API outside this release: set operator.apiKey.existingSecret to a Secret with a key for it." -}}
{{- end -}}
{{- if and .Values.crds.enabled (not .Values.crds.keep) (not .Values.operator.enabled) -}}
{{- fail "crds.keep=false deletes all objects before an uninstall, which needs a running operator: set operator.enabled or crds.keep." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.rbac.create (not .Values.operator.serviceAccount.create) (not .Values.operator.serviceAccount.name) -}}
{{- fail "operator.serviceAccount.create=false needs operator.serviceAccount.name: otherwise every Pod in the namespace that uses the default account would get the operator's rights." -}}
{{- end -}}
{{- range $component, $fixed := dict "api" (list "HOST" "PORT" "METRICS_PORT") "operator" (list "METRICS_HOST" "METRICS_PORT") -}}
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

{{- define "tunnel-operator.namespaceSelector" -}}
tunnel-operator.dev/namespace-selector
{{- end -}}

{{/*
Refuses a second operator on the same objects or with the same Lease, unless it is a shard. Role bindings reveal other
operators. A forbidden lookup fails the installation, so only types that this release itself creates are looked up.
*/}}
{{- define "tunnel-operator.refuseSecondOperator" -}}
{{- if and .Values.operator.enabled .Values.rbac.create (not (include "tunnel-operator.isShard" .)) -}}
{{- $rbac := "rbac.authorization.k8s.io/v1" -}}
{{- $bindings := list -}}
{{- $namespaces := list "" -}}
{{- if .Values.watchNamespaces -}}
{{- $namespaces = append .Values.watchNamespaces .Release.Namespace | uniq -}}
{{- end -}}
{{- if or (not .Values.watchNamespaces) .Values.rbac.aggregateClusterRoles -}}
{{- $bindings = (lookup $rbac "ClusterRoleBinding" "" "").items | default list -}}
{{- end -}}
{{- range $namespaces -}}
{{- $bindings = concat $bindings ((lookup $rbac "RoleBinding" . "").items | default list) -}}
{{- end -}}
{{- range $bindings -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $isOperator := and (eq (get $labels "app.kubernetes.io/component") "operator") (hasPrefix "tunnel-operator-" (get $labels "helm.sh/chart")) -}}
{{- $instance := get $labels "app.kubernetes.io/instance" -}}
{{- $namespace := (first (.subjects | default (list dict))).namespace -}}
{{- /* Manifests applied without Helm lack its annotations; a release of the same name and namespace takes them over. */}}
{{- $isTakenOver := and (not (get (.metadata.annotations | default dict) "meta.helm.sh/release-name")) (eq $instance $.Release.Name) (eq $namespace $.Release.Namespace) -}}
{{- if and $isOperator (not $isTakenOver) (not (include "tunnel-operator.isOfThisRelease" (list $ .))) -}}
{{- $other := printf "the release %s in the namespace %s" $instance $namespace -}}
{{- $share := "divide the objects with SHARD_SELECTOR in operator.extraEnv of both" -}}
{{- $isLease := hasSuffix "-lease" .roleRef.name -}}
{{- /* The release's own namespace may have been searched only for the Lease. */}}
{{- $isCommon := or (not .metadata.namespace) (not $.Values.watchNamespaces) (has .metadata.namespace $.Values.watchNamespaces) -}}
{{- $otherSelector := get (.metadata.annotations | default dict) (include "tunnel-operator.namespaceSelector" $) -}}
{{- /* Two selectors are trusted to have no namespace in common. */}}
{{- $isApart := and $otherSelector $.Values.watchNamespaceSelector (ne $otherSelector $.Values.watchNamespaceSelector) -}}
{{- if and $isCommon (not $isLease) (not $isApart) -}}
{{- $where := .metadata.namespace | empty | ternary "all namespaces" (print "the namespace " .metadata.namespace) -}}
{{- fail (printf "%s already has an operator for %s, and the two would overwrite each other's changes: set watchNamespaces, or watchNamespaceSelector, in both, with none in common, or %s." $other $where $share) -}}
{{- else if and $isLease (eq .metadata.namespace $.Release.Namespace) -}}
{{- fail (printf "%s already has an operator, and both would use the same Lease, so only one would be active: install this one in another namespace, or %s." $other $share) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Marks an operator whose release deletes the CustomResourceDefinitions when it is uninstalled. */}}
{{- define "tunnel-operator.takesCrdsAlong" -}}
tunnel-operator.dev/takes-crds-along
{{- end -}}

{{/* Called with a list: the root, an object of the cluster. */}}
{{- define "tunnel-operator.isOfThisRelease" -}}
{{- $release := (index . 0).Release -}}
{{- $annotations := (index . 1).metadata.annotations | default dict -}}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") $release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $release.Namespace) -}}
true
{{- end -}}
{{- end -}}

{{/* True if this operator handles only a shard of the objects, selected by label. */}}
{{- define "tunnel-operator.isShard" -}}
{{- range .Values.operator.extraEnv -}}{{- if eq .name "SHARD_SELECTOR" -}}true{{- end -}}{{- end -}}
{{- end -}}

{{/*
The environment of a container: the chart's own variables, overridden by extraEnv. Each name appears once, since a
server-side apply rejects duplicates. Called with a list: the chart's own as YAML, extraEnv.
*/}}
{{- define "tunnel-operator.env" -}}
{{- $extra := index . 1 -}}
{{- $overridden := list -}}
{{- range $extra }}{{- $overridden = append $overridden .name -}}{{- end -}}
{{- $env := list -}}
{{- range index . 0 | fromYamlArray -}}
{{- if not (has .name $overridden) -}}{{- $env = append $env . -}}{{- end -}}
{{- end -}}
{{- toYaml (concat $env $extra) -}}
{{- end -}}

{{/* Where to send traces, and which Pod they come from. */}}
{{- define "tunnel-operator.tracingEnv" -}}
{{- with .Values.tracing -}}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
{{- if .headers.existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef: { name: {{ .headers.existingSecret | quote }}, key: {{ .headers.existingSecretKey | quote }} }
{{- end }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  # Without an exponent, which the programs do not accept.
  value: {{ regexReplaceAll "[.]?0+$" (printf "%.12f" (float64 .samplingRatio)) "" | quote }}
- name: TRACED_POD
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.Release.Namespace }},k8s.pod.name=$(TRACED_POD),service.instance.id=$(TRACED_POD)
{{- end }}
{{- end -}}

{{/* Scheduling and image pull secrets of a Pod. Called with a list: the root, the component's values. */}}
{{- define "tunnel-operator.scheduling" -}}
{{- $placement := pick (index . 1) "nodeSelector" "tolerations" "affinity" -}}
{{- with (index . 0).Values.global -}}
{{- $_ := set $placement "priorityClassName" .priorityClassName -}}
{{- $secrets := list -}}
{{- range .imagePullSecrets -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- $_ := set $placement "imagePullSecrets" $secrets -}}
{{- end -}}
{{- range $key, $value := $placement -}}
{{- if not $value -}}{{- $_ := unset $placement $key -}}{{- end -}}
{{- end -}}
{{- /* The Pods use no Service variables, and a Service named metrics would set METRICS_PORT. */}}
{{- $_ := set $placement "enableServiceLinks" false -}}
{{- toYaml $placement -}}
{{- end -}}

{{/*
The Pods of hooks may run on the operator's nodes. Its pod affinity does not apply: it is meant for replicas and could
leave a hook without a node.
*/}}
{{- define "tunnel-operator.hookScheduling" -}}
{{- $operator := pick .Values.operator "nodeSelector" "tolerations" -}}
{{- with (.Values.operator.affinity).nodeAffinity -}}
{{- $_ := set $operator "affinity" (dict "nodeAffinity" .) -}}
{{- end -}}
{{- include "tunnel-operator.scheduling" (list . $operator) -}}
{{- end -}}

{{/* Fields of every Pod. Called with a list: the root, the component's values, the component. */}}
{{- define "tunnel-operator.podSpec" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{ include "tunnel-operator.scheduling" (list $root $values) }}
securityContext:
  {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
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
    # Pods that an upgrade is replacing do not count.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}

{{/*
The namespaces to watch, as JSON, without those that do not exist: nothing can be installed there. A forbidden lookup fails the
installation, so only a user who may create ClusterRoles looks. Without a cluster, as with `helm template`, all exist.
*/}}
{{- define "tunnel-operator.watchedNamespaces" -}}
{{- $existing := list -}}
{{- $mayLook := and .Values.rbac.aggregateClusterRoles (lookup "v1" "Namespace" "" "kube-system") -}}
{{- range .Values.watchNamespaces -}}
{{- $found := list -}}
{{- if $mayLook -}}
{{- $found = lookup "v1" "Namespace" "" . -}}
{{- end -}}
{{- if or (not $mayLook) (and $found (ne ($found.status).phase "Terminating")) -}}
{{- $existing = append $existing . -}}
{{- end -}}
{{- end -}}
{{- toJson $existing -}}
{{- end -}}
