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
