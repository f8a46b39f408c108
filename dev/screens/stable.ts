/** Replaces everything in kubectl's output that differs from run to run; equal texts stay equal. Pure. */

/** Numbers what it is given, in order. */
class Numbers {
  readonly #known = new Map<string, number>();

  of(text: string): number {
    const known = this.#known.get(text) ?? this.#known.size + 1;
    this.#known.set(text, known);
    return known;
  }
}

const padded = (number: number, length: number) => String(number).padStart(length, '0');

/** A function for the screens of one page, in which the same id gets the same replacement. */
export function stabilizer(): (screen: string) => string {
  const [ids, uids, digests] = [new Numbers(), new Numbers(), new Numbers()];
  // Keeps the length, so that columns stay aligned.
  const id = (_: string, prefix = '', suffix = '') => `${prefix}01j${padded(ids.of(suffix), 23)}`;
  const uid = (text: string) => `00000000-0000-4000-8000-${padded(uids.of(text), 12)}`;
  const digest = (_: string, before: string, text: string) => `${before}${padded(digests.of(text), 22)}`;
  return (screen) =>
    screen
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'https://api.example.com')
      .replaceAll(/\b([a-z]+_)?([0-7][0-9a-hjkmnp-tv-z]{25})\b/g, id)
      .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, uid)
      .replaceAll(/(Digest: +)([A-Za-z0-9_-]{22})/g, digest)
      .replaceAll(/(Resource Version: +)\d+/g, '$11')
      .replaceAll(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '2026-11-21T10:00:00Z')
      .replaceAll(/(?<=[^:\s] +)\d+(?:d\d+h|h\d+m|m\d+s|[smh])(?: \(x\d+ over \w+\))?(?=\n|$| {2})/g, '1m')
      // The column of Events is as wide as their original ages.
      .replaceAll(/(?<= {2}Age) +(?=From)/g, '   ')
      .replaceAll(/(?<=------ +----) +(?=----)/g, '  ')
      .replaceAll(/(?<= 1m) +(?=tunnel-operator)/g, '    ')
      .replaceAll(/\b(?:[0-9A-F]{2}:){15,}[0-9A-F]{2}\b/gi, 'AB:CD:…')
      .replaceAll(/[A-Za-z0-9+/]{60,}=*/g, '…')
      .replaceAll(/SHA256:[A-Za-z0-9+/]{43}/g, 'SHA256:…')
      .replaceAll(/[ \t]+$/gm, '')
      .trimEnd();
}
