/**
 * DER (X.690), read without computing anything, to know what a key is before OpenSSL sees it. BER of indefinite length
 * is refused, and so is a tag of several bytes: no key needs either. Not with asn1js, which reads all levels at once:
 * 16 ms of the event loop for 12 KB that are made for it, of which this needs two levels, and 3 ms.
 */

/** The tags that keys are made of; `explicit0` is `[0]` around another element. */
export const TAG = { integer: 0x02, octets: 0x04, oid: 0x06, sequence: 0x30, explicit0: 0xa0 } as const;

export interface DerElement {
  tag: number;
  content: Buffer;
}

/** Thrown for malformed bytes. */
export class MalformedDer extends Error {
  override readonly name = 'MalformedDer';
}

/** The first element of some bytes; what follows it is ignored, as OpenSSL does. */
export function firstElement(bytes: Buffer): DerElement {
  return elementAt(bytes, 0).element;
}

/** The elements within one that must be a sequence. */
export function elementsOf(element: DerElement | undefined): DerElement[] {
  if (element?.tag !== TAG.sequence) throw new MalformedDer('has another element');
  const elements: DerElement[] = [];
  let at = 0;
  while (at < element.content.length) {
    const next = elementAt(element.content, at);
    elements.push(next.element);
    at = next.end;
  }
  return elements;
}

/** The bytes of a number that is not negative, without leading zeros: OpenSSL reads the numbers of a key that way. */
export function numberIn(element: DerElement | undefined): Buffer {
  if (element?.tag !== TAG.integer) throw new MalformedDer('has no number');
  const { content } = element;
  const first = content.findIndex((byte) => byte !== 0);
  return first === -1 ? Buffer.alloc(0) : content.subarray(first);
}

function elementAt(bytes: Buffer, at: number): { element: DerElement; end: number } {
  const [tag, first] = [byteAt(bytes, at), byteAt(bytes, at + 1)];
  if ((tag & 0x1f) === 0x1f || first === 0x80) throw new MalformedDer('has a form that DER has not');
  const lengthBytes = Math.max(first - 0x80, 0);
  const from = at + 2 + lengthBytes;
  const length = lengthBytes > 0 ? bytes.subarray(at + 2, from).reduce((sum, byte) => sum * 0x100 + byte, 0) : first;
  if (from + length > bytes.length) throw new MalformedDer('is truncated');
  return { element: { tag, content: bytes.subarray(from, from + length) }, end: from + length };
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new MalformedDer('is truncated');
  return byte;
}
