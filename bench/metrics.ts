/** Reads a process's metrics in the Prometheus text format. */

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

export async function scrape(url: string): Promise<Sample[]> {
  const response = await fetch(`${url}/metrics`);
  return parseMetrics(await response.text());
}

/** The samples in a metrics page, without comments. */
export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) return [];
    const [, name = '', labels = '', value = ''] = match;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, key = '', text = '']) => [key, text] as const,
    );
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** The sum of a metric's samples with these label values. */
export function total(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string | readonly string[]> = {},
): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) =>
      Object.entries(labels).every(([key, wanted]) => [wanted].flat().includes(sample.labels[key] ?? '')),
    )
    .reduce((sum, { value }) => sum + value, 0);
}
