/** The DER (X.690) needed for test keys that no tool writes: they are crafted to be slow to process. */
import { randomBytes } from 'node:crypto';
// Must come before the next import, which needs it at load time.
import 'reflect-metadata';
import { PemConverter } from '@peculiar/x509';

type Content = readonly Uint8Array[];

export const sequence = (...content: Content) => element(0x30, ...content);
export const octets = (...content: Content) => element(0x04, ...content);
export const bits = (...content: Content) => element(0x03, Buffer.from([0]), ...content);
/** The element [number] of a SEQUENCE, with an explicit tag. */
export const tagged = (number: number, ...content: Content) => element(0xa0 + number, ...content);
export const none = () => element(0x05);

export function integer(value: Uint8Array | number): Buffer {
  const bytes = typeof value === 'number' ? Buffer.from([value]) : value;
  return element(0x02, ...((bytes[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), bytes);
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...others.flatMap(base128)]));
}

/** A random odd number of exactly `length` bits, which must be a multiple of 8. */
export function oddNumber(length: number): Buffer {
  const bytes = randomBytes(length / 8);
  bytes.writeUInt8(bytes.readUInt8(0) | 0x80, 0);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) | 1, bytes.length - 1);
  return bytes;
}

export const pem = (label: string, der: Buffer) => `${PemConverter.encode(der, label)}\n`;

function element(tag: number, ...content: Content): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(bytes.length)]), bytes]);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return [0x80 + bytes.length, ...bytes];
}

function base128(number: number): number[] {
  const rest: number[] = number < 0x80 ? [] : base128(number >>> 7).map((byte) => byte | 0x80);
  return [...rest, number & 0x7f];
}
