/** SSH public keys for tests, as lines of a `.pub` file: good ones, and parts to make bad ones of. */
import { generateKeyPairSync } from 'node:crypto';
import { mpint, string } from '../../src/resources/formats/ssh-wire.ts';

export const b64 = (encoded: string | undefined) => Buffer.from(encoded ?? '', 'base64url');
export const line = (type: string, ...parts: Buffer[]) =>
  `${type} ${Buffer.concat([string(type), ...parts]).toString('base64')}`;

export const rsa = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
export const rsaLine = ({ e, n }: { e?: string; n?: string }) => line('ssh-rsa', mpint(b64(e)), mpint(b64(n)));

export const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
export const point = ({ x, y }: { x?: string; y?: string }) => Buffer.concat([Buffer.from([4]), b64(x), b64(y)]);
export const ecLine = (curve: string, bytes: Buffer, inner = curve) =>
  line(`ecdsa-sha2-${curve}`, string(inner), string(bytes));

export const edwards = () => b64(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x);
export const ed25519Line = (bytes: Buffer) => line('ssh-ed25519', string(bytes));

export const dssLine = (modulus: Buffer) => line('ssh-dss', mpint(modulus));
