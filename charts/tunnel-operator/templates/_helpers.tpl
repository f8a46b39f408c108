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

{{/* A StatefulSet whose name has more than 52 characters makes no Pods, and CloudNativePG takes no more than 50. */}}
{{- define "tunnel-operator.databaseName" -}}
{{- include "tunnel-operator.fullname" . | trunc 41 | trimSuffix "-" }}-database
{{- end -}}

{{/*
Of an object. Called with a list: the root, the component, and more labels if there are any. Each key once: the chart's
own come first, then those of the one object, then those of all.
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

{{/* Of a Pod of the API or the operator. Called with a list: the root, the component. */}}
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
Whether a Secret with random values is still to be made. Called with a list: the root, its name, its keys. As a hook,
and only while there is none: in the manifest of a revision, its values would come back with a rollback.
*/}}
{{- define "tunnel-operator.mustMakeSecret" -}}
{{- $name := index . 1 -}}
{{- $secret := lookup "v1" "Secret" (index . 0).Release.Namespace $name -}}
{{- range index . 2 -}}
{{- if and $secret (not (get ($secret.data | default dict) .)) -}}
{{- fail (printf "the Secret %s lacks the key %s: add it, or delete the Secret if nothing needs it any more" $name .) -}}
{{- end -}}
{{- end -}}
{{- if not $secret -}}true{{- end -}}
{{- end -}}

{{/*
The annotations of such a Secret. `keep` is for revisions whose manifest still had it. The policy replaces that of hooks
without one, which is to delete whatever has the name by now, as a Secret that is restored meanwhile: Helm fails instead.
What it deletes is a Secret that it has just made, in an installation or upgrade that goes no further.
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
What the chart's own database needs for the API, as docs/high-availability.md counts. In whole hundreds, of which one is PostgreSQL's default:
PostgreSQL restarts for another number, and a replica more should rarely cost that.
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

{{/* The port of a PostgreSQL URL: a parameter wins over the one after the host. */}}
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
{{- fail "Without api.enabled, the operator needs operator.apiUrl, and operator.apiKey.existingSecret with a key of that API." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.operator.apiUrl (not .Values.operator.apiKey.existingSecret) (not .Values.secrets.existingSecret) (not .Values.api.enabled) -}}
{{- fail "operator.apiUrl names an API of somebody else: set operator.apiKey.existingSecret to a Secret with a key of it." -}}
{{- end -}}
{{- if and .Values.crds.enabled (not .Values.crds.keep) (not .Values.operator.enabled) -}}
{{- fail "crds.keep=false deletes all objects before uninstalling, which only a running operator can finish: set operator.enabled or crds.keep." -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.rbac.create (not .Values.operator.serviceAccount.create) (not .Values.operator.serviceAccount.name) -}}
{{- fail "operator.serviceAccount.create=false needs operator.serviceAccount.name: otherwise every Pod of the namespace without an account of its own would get the operator's rights." -}}
{{- end -}}
{{- range $component, $fixed := dict "api" (list "HOST" "PORT" "METRICS_PORT") "operator" (list "METRICS_HOST" "METRICS_PORT") -}}
{{- range (index $.Values $component).extraEnv -}}
{{- if has .name $fixed -}}
{{- fail (printf "%s.extraEnv cannot set %s: probes, Services and NetworkPolicies go by the addresses and ports of the chart." $component .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* Whoever has no rights in the whole cluster may not look, and has installed none. */}}
{{- if and (not .Values.crds.enabled) .Release.IsUpgrade -}}
{{- $mayLook := and .Values.rbac.create (not .Values.watchNamespaces) -}}
{{- $operator := lookup "apps/v1" "Deployment" .Release.Namespace (printf "%s-operator" (include "tunnel-operator.fullname" .)) -}}
{{- if or $mayLook (get (($operator.metadata).annotations | default dict) (include "tunnel-operator.takesCrdsAlong" .)) -}}
{{- range (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $isOurs := include "tunnel-operator.isOfThisRelease" (list $ .) -}}
{{- if and (eq .spec.group "tunnel-operator.dev") $isOurs (ne (get $annotations "helm.sh/resource-policy") "keep") -}}
{{- fail (printf "crds.enabled=false would delete %s, which this release has installed, with all its objects: upgrade with crds.keep=true first." .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "tunnel-operator.refuseSecondOperator" . -}}
{{- end -}}

{{/*
Refuses an operator beside another one that works on the same objects or has the same Lease; shards may be several. The
bindings tell. A lookup that is forbidden fails, so it is only for such as this release makes, too.
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
{{- /* What was rendered and applied without helm has none of its annotations; it is taken over under its names. */}}
{{- $isTakenOver := and (not (get (.metadata.annotations | default dict) "meta.helm.sh/release-name")) (eq $instance $.Release.Name) (eq $namespace $.Release.Namespace) -}}
{{- if and $isOperator (not $isTakenOver) (not (include "tunnel-operator.isOfThisRelease" (list $ .))) -}}
{{- $other := printf "the release %s in the namespace %s" $instance $namespace -}}
{{- $share := "share the objects by SHARD_SELECTOR in operator.extraEnv of both" -}}
{{- $isLease := hasSuffix "-lease" .roleRef.name -}}
{{- /* The namespace of this release is looked at for the Lease, too. */}}
{{- $isCommon := or (not .metadata.namespace) (not $.Values.watchNamespaces) (has .metadata.namespace $.Values.watchNamespaces) -}}
{{- if and $isCommon (not $isLease) -}}
{{- $where := .metadata.namespace | empty | ternary "all namespaces" (print "the namespace " .metadata.namespace) -}}
{{- fail (printf "%s has an operator of %s already, and two would work against each other: set watchNamespaces in both, with none in common, or %s." $other $where $share) -}}
{{- else if and $isLease (eq .metadata.namespace $.Release.Namespace) -}}
{{- fail (printf "%s has an operator already, and both would have the same Lease, so that only one works: install this one in another namespace, or %s." $other $share) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The annotation of an operator whose release deletes the CustomResourceDefinitions when it goes. */}}
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

{{/* Whether the operator shares the objects with others, by label. */}}
{{- define "tunnel-operator.isShard" -}}
{{- range .Values.operator.extraEnv -}}{{- if eq .name "SHARD_SELECTOR" -}}true{{- end -}}{{- end -}}
{{- end -}}

{{/*
The environment of a container: the chart's own, and that of users, who may override it: each name once, since a
server-side apply refuses two. Called with a list: the chart's own as YAML, extraEnv.
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

{{/* Where traces are sent, and which Pod they are of. */}}
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
  # Without an exponent, which the programs do not take.
  value: {{ regexReplaceAll "[.]?0+$" (printf "%.12f" (float64 .samplingRatio)) "" | quote }}
- name: TRACED_POD
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.Release.Namespace }},k8s.pod.name=$(TRACED_POD),service.instance.id=$(TRACED_POD)
{{- end }}
{{- end -}}

{{/* Where Pods may run, and what pulls their images. Called with a list: the root, the component's values. */}}
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
{{- /* A Service that is called metrics would set METRICS_PORT, and Pods use none of these variables. */}}
{{- $_ := set $placement "enableServiceLinks" false -}}
{{- toYaml $placement -}}
{{- end -}}

{{/*
For the Pods of hooks: where the operator may run, they may. Not next to which Pods: rules about that are for replicas,
and might leave a hook without a node.
*/}}
{{- define "tunnel-operator.hookScheduling" -}}
{{- $operator := pick .Values.operator "nodeSelector" "tolerations" -}}
{{- with (.Values.operator.affinity).nodeAffinity -}}
{{- $_ := set $operator "affinity" (dict "nodeAffinity" .) -}}
{{- end -}}
{{- include "tunnel-operator.scheduling" (list . $operator) -}}
{{- end -}}

{{/* What all Pods have. Called with a list: the root, the component's values, the component. */}}
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
    # Those that an upgrade replaces do not count.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}
