/** A CustomResourceDefinition as a template of the chart. */

const METADATA = `  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
  labels:
    {{- include "tunnel-operator.labels" (list . "crds") | nindent 4 }}
`;

/**
 * Inserts text into text: parsed and rendered by Helm, large numbers would become floating-point numbers.
 * @throws Error when the metadata does not look as expected
 */
export function crdTemplate(yaml: string): string {
  const escaped = yaml.replaceAll('{{', '{{ "{{" }}');
  const template = escaped.replace(/^metadata:\n {2}name: .*\n/m, (metadata) => `${metadata}${METADATA}`);
  if (template === escaped) throw new Error('a CustomResourceDefinition without metadata.name');
  return `{{- if .Values.crds.enabled }}\n${template}{{- end }}\n`;
}
