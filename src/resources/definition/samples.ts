/**
 * Bodies of requests that show what a family takes: from them come the rows of conformance, the tests of events and
 * migrations, the benches. Plain data whose texts have placeholders: `{n}` for the number of the sample and `{hex}` for the
 * same in hexadecimal, so that two are never the same; `{ip_policy.id}` for another resource that has to exist;
 * `{pem.ca}`, `{ssh.ed25519}` for what only a program makes.
 */
export interface Samples {
  /** The least that a create takes. */
  readonly least: Body;
  /** Another, with every field that a create may carry. */
  readonly full: Body;
  /** A change of either that is possible at any time, and that shows under the same names. */
  readonly change: Body;
}

export type Body = Readonly<Record<string, unknown>>;

/** Samples of `description` and `metadata`. */
export const DESCRIBED = { description: 'for the Berlin office', metadata: '{"team":"platform"}' };
export const CHANGED = { description: 'changed', metadata: 'changed too' };
