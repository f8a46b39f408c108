/**
 * Sample request bodies of a family, for conformance, tests and benchmarks. Their texts have placeholders: `{n}` for the
 * number of the sample and `{hex}` for the same in hexadecimal, so that all differ; `{ip_policy.id}` for another resource
 * that must exist; `{pem.ca}`, `{ssh.ed25519}` for what only a program can make.
 */
export interface Samples {
  /** A create with required fields only. */
  readonly least: Body;
  /** A create with every field. */
  readonly full: Body;
  /** An update that is always possible, of fields that have the same names in responses. */
  readonly change: Body;
}

export type Body = Readonly<Record<string, unknown>>;

/** Samples of `description` and `metadata`. */
export const DESCRIBED = { description: 'for the Berlin office', metadata: '{"team":"platform"}' };
export const CHANGED = { description: 'changed', metadata: 'changed too' };
