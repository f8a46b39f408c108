/** Just enough of the Postgres wire protocol (version 3) to split a stream into messages and name their statements. */

/** The side that sent a message. */
export type Sender = 'client' | 'server';

export interface Message {
  readonly sender: Sender;
  /** One letter, e.g. `P` for Parse or `Z` for ReadyForQuery; empty for the startup message, which has none. */
  readonly type: string;
  /** The statement that it belongs to: the name that it was prepared under, or its text. */
  readonly statement: string;
  readonly bytes: Buffer;
}

const LENGTH_BYTES = 4;

/** Splits what both sides of one connection send into messages. */
export class WireReader {
  readonly #rest = { client: Buffer.alloc(0), server: Buffer.alloc(0) };
  #started = false;
  #statement = '';

  read(sender: Sender, chunk: Buffer): Message[] {
    const found: Message[] = [];
    let data = Buffer.concat([this.#rest[sender], chunk]);
    for (;;) {
      const typed = sender === 'server' || this.#started;
      const at = typed ? 1 : 0;
      if (data.length < at + LENGTH_BYTES) break;
      const end = at + data.readUInt32BE(at);
      if (data.length < end) break;
      const bytes = data.subarray(0, end);
      const type = typed ? String.fromCharCode(bytes[0] ?? 0) : '';
      if (sender === 'client') {
        this.#started = true;
        this.#statement = statementOf(type, bytes.subarray(at + LENGTH_BYTES)) ?? this.#statement;
      }
      found.push({ sender, type, statement: this.#statement, bytes });
      data = data.subarray(end);
    }
    this.#rest[sender] = data;
    return found;
  }
}

/** The name or text of the statement, if this message of the client begins one. */
function statementOf(type: string, content: Buffer): string | undefined {
  const [first = '', second = ''] = content.toString('latin1').split('\0', 2);
  if (type === 'Q') return brief(first);
  if (type === 'P') return first || brief(second);
  // A Bind names its portal, which is not used here, and then a statement that was prepared earlier.
  return type === 'B' && second !== '' ? second : undefined;
}

const brief = (text: string) => text.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
