{{/* True if an object of the Prometheus operator is rendered. Called with a list: the root, its kind. */}}
{{- define "tunnel-operator.rendersMonitoring" -}}
{{- $root := index . 0 -}}
{{- $mode := $root.Values.monitoring.renderMode -}}
{{- $api := printf "monitoring.coreos.com/v1/%s" (index . 1) -}}
{{- if or (eq $mode "alwaysRender") ($root.Capabilities.APIVersions.Has $api) -}}
true
{{- else if eq $mode "failIfMissing" -}}
{{- fail (printf "the cluster does not know %s: install the Prometheus operator first, or set monitoring.renderMode=skipIfMissing." $api) -}}
{{- end -}}
{{- end -}}

{{/* The job that the dashboard and the alerts select a program by. Called with the component. */}}
{{- define "tunnel-operator.job" -}}
{{- eq . "operator" | ternary "tunnel-operator" (print "tunnel-operator-" .) -}}
{{- end -}}

{{/* A Service's name is limited to 63 characters. Called with a list: the root, the component. */}}
{{- define "tunnel-operator.metricsService" -}}
{{- include "tunnel-operator.fullname" (index . 0) | trunc 46 | trimSuffix "-" }}-{{ index . 1 }}-metrics
{{- end -}}

{{/* The metadata of a ServiceMonitor or PodMonitor. Called with a list: the root, the component, the monitor's values. */}}
{{- define "tunnel-operator.monitorMetadata" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 2 -}}
name: {{ include "tunnel-operator.fullname" $root }}-{{ index . 1 }}
namespace: {{ $monitor.namespace | default $root.Release.Namespace | quote }}
labels:
  {{- include "tunnel-operator.labels" (list $root (index . 1) $monitor.additionalLabels) | nindent 2 }}
{{- end -}}

{{/* Which Pods or Services a monitor selects. Called with a list: the root, the component in their labels. */}}
{{- define "tunnel-operator.monitorSelector" -}}
selector:
  matchLabels:
    {{- include "tunnel-operator.selectorLabels" . | nindent 4 }}
# The monitor may be in another namespace.
namespaceSelector:
  matchNames: [{{ (index . 0).Release.Namespace | quote }}]
{{- end -}}

{{/* How a monitor scrapes. Called with a list: the monitor's values, relabelings that come first. */}}
{{- define "tunnel-operator.monitorEndpoint" -}}
{{- $monitor := index . 0 -}}
port: metrics
path: /metrics
interval: {{ $monitor.interval }}
scrapeTimeout: {{ $monitor.scrapeTimeout }}
{{- with concat (index . 1) ($monitor.relabelings | default list) }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
