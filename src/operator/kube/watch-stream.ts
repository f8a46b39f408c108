/** The body of a watch: one watch event per line, as JSON. */
import { z } from 'zod';
import { KubeUnreachableError, kubeErrorFrom } from './kube-error.ts';
import { type KubeObject, kubeObject } from './kube-object.ts';

export type WatchEvent =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: KubeObject }
  | { type: 'BOOKMARK'; resourceVersion: string };

const watchLine = z.object({ type: z.string(), object: z.unknown() });
const bookmark = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });

/** Not node:readline: its async iterator drops errors of the stream, and its interface throws them unhandled. */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** @throws KubeError for an ERROR event, KubeUnreachableError for a line that is not a watch event */
export function readWatchEvent(line: string): WatchEvent {
  let parsed: z.output<typeof watchLine>;
  try {
    parsed = watchLine.parse(JSON.parse(line));
  } catch {
    // Without the cause, which quotes the line: that may be a Secret.
    throw new KubeUnreachableError(`a watch event of ${Buffer.byteLength(line)} bytes was incomplete`);
  }
  switch (parsed.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: parsed.type, object: kubeObject.parse(parsed.object) };
    case 'BOOKMARK':
      return { type: 'BOOKMARK', resourceVersion: bookmark.parse(parsed.object).metadata.resourceVersion };
    default:
      throw kubeErrorFrom(0, JSON.stringify(parsed.object), {});
  }
}
