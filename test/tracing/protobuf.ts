/** Reads the protobuf encoding as far as OTLP uses it: fields by number, in order. */

export type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** Texts, bytes and messages come as bytes; numbers as bigint. @throws Error for what is not protobuf */
function readFields(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new Error('ends within a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number) => {
    at += length;
    if (at > message.length) throw new Error('ends within a field');
    return message.subarray(at - length, at);
  };
  const readers: Record<number, () => Buffer | bigint> = {
    0: varint,
    1: () => bytes(8).readBigUInt64LE(),
    2: () => bytes(Number(varint())),
    5: () => BigInt(bytes(4).readUInt32LE()),
  };
  while (at < message.length) {
    const key = Number(varint());
    const read = readers[key & 7];
    if (!read) throw new Error(`unknown wire type ${key & 7}`);
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), read()]);
  }
  return fields;
}

export function messages(fields: Fields, number: number): Fields[] {
  return buffers(fields, number).map(readFields);
}

export const text = (fields: Fields, number: number) => buffers(fields, number)[0]?.toString('utf8');
export const hex = (fields: Fields, number: number) => buffers(fields, number)[0]?.toString('hex');

export function integer(fields: Fields, number: number): number | undefined {
  const value = fields.get(number)?.[0];
  return typeof value === 'bigint' ? Number(value) : undefined;
}

function buffers(fields: Fields, number: number): Buffer[] {
  return (fields.get(number) ?? []).filter((value) => Buffer.isBuffer(value));
}
