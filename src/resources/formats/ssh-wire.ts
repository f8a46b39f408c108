/** The binary encoding of SSH (RFC 4251, section 5): what keys, certificates and signatures are made of. */

/** Thrown for malformed bytes; the message completes "the key …". */
export class MalformedSsh extends Error {
  override readonly name = 'MalformedSsh';
}

/** Reads values in sequence, never past the end. */
export class SshReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** A length and that many bytes. */
  string(): Buffer {
    if (this.#offset + 4 > this.#bytes.length) throw new MalformedSsh('is truncated');
    const length = this.#bytes.readUInt32BE(this.#offset);
    const from = this.#offset + 4;
    if (length > this.#bytes.length - from) throw new MalformedSsh('is truncated');
    this.#offset = from + length;
    return this.#bytes.subarray(from, this.#offset);
  }

  /** A positive integer, as its bytes without a sign. */
  positive(): Buffer {
    const bytes = this.string();
    const [first = 0, second = 0] = bytes;
    const padded = first === 0 && second >= 0x80;
    if (bytes.length === 0 || first >= 0x80 || (first === 0 && !padded)) {
      throw new MalformedSsh('has a number that is not positive, or not in its shortest form');
    }
    return padded ? bytes.subarray(1) : bytes;
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw new MalformedSsh('has trailing data');
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

export function string(value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A positive integer, given as its bytes (big-endian, perhaps with leading zeros). */
export function mpint(magnitude: Buffer): Buffer {
  const first = magnitude.findIndex((byte) => byte !== 0);
  const bytes = first === -1 ? Buffer.alloc(0) : magnitude.subarray(first);
  // The highest bit is the sign.
  return string((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}
