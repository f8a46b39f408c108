import { z } from 'zod';
import { type KindRow, kindRow } from '../../dev/fixtures/kinds.ts';
import { type StoryRow, storyRows } from '../../dev/fixtures/story-rows.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import type { CredentialSpec, PolicySpec } from './declared.ts';
import type { Stage } from './stage.ts';

/** One performance of a scenario, with objects of its own. */
export interface Cast {
  readonly stage: Stage;
  readonly policy: { readonly kind: 'IPPolicy'; readonly name: string };
  readonly agent: { readonly kind: 'TunnelCredential'; readonly name: string };
  /** One of every kind, with the number of the performance. */
  readonly each: readonly {
    readonly kind: string;
    readonly name: string;
    readonly row: StoryRow;
    readonly n: number;
  }[];
}

export interface Scenario {
  /** "survives being killed while it …" */
  readonly name: string;
  /** The kinds to declare, one object of each; default: all. */
  readonly rows?: readonly StoryRow[];
  /** Declares what exists, and has settled, before `act`. */
  readonly given?: (cast: Cast) => Promise<void>;
  /** The change during which the operator is killed. */
  readonly act: (cast: Cast) => Promise<void>;
  /** True: `act` happens while no operator runs, so that the operator is also killed at the calls of its start. */
  readonly whileDown?: boolean;
  /** Checks what must hold throughout; returns violations, in sentences. @param since the last event before `act` */
  readonly always?: (cast: Cast, since: unknown) => Promise<string[]>;
  /** What happens between the crash and the restart. */
  readonly meanwhile?: (cast: Cast) => Promise<void>;
}

const POLICY: PolicySpec = {
  description: 'Office networks',
  rules: [
    { cidr: '203.0.113.0/24', action: 'allow', description: 'Office' },
    { cidr: '2001:db8:10::/48', action: 'allow' },
  ],
};
const OTHER_RULES: NonNullable<PolicySpec['rules']> = [
  { cidr: '203.0.113.0/24', action: 'deny' },
  { cidr: '198.51.100.0/24', action: 'allow' },
];
const CREDENTIAL: CredentialSpec = { description: 'Agents of the shop', acl: ['bind:shop.example.com'] };

/** Without overlap, the same reconcile always deletes the old credential; with this one, always a later reconcile. */
const NO_OVERLAP = '0s';
const SOME_OVERLAP = '2s';
const NOW = 'now';

async function createBoth({ stage, policy, agent }: Cast, more: CredentialSpec = {}): Promise<void> {
  await stage.apply({ ...policy, spec: POLICY });
  await stage.apply({ ...agent, spec: { ...CREDENTIAL, ...more } });
}

async function createAgent({ stage, agent }: Cast): Promise<void> {
  await stage.apply({ ...agent, spec: CREDENTIAL });
}

async function editBoth({ stage, policy, agent }: Cast): Promise<void> {
  await stage.apply({ ...policy, spec: { description: 'All networks', rules: OTHER_RULES } });
  await stage.apply({ ...agent, spec: { description: 'Agents of the shops', acl: ['bind:*.example.com'] } });
}

async function deleteBoth({ stage, policy, agent }: Cast): Promise<void> {
  await stage.remove(policy);
  await stage.remove(agent);
}

const rotate = ({ stage, agent }: Cast) => stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: NOW });

/** Renames the Secret to `to`, followed by the number of the performance. */
function renameSecret(to: string) {
  return async ({ stage, agent }: Cast) => {
    const name = `${to}-${agent.name.split('-').at(-1)}`;
    await stage.apply({ ...agent, spec: { ...CREDENTIAL, secret: { name } } });
  };
}

async function forgetTokens({ stage }: Cast): Promise<void> {
  await stage.query("update idempotency_keys set created_at = created_at - interval '25 hours'");
}

const deleteInTheApi = ({ stage }: Cast) => stage.deleteInTheApi();

async function deleteInTheApiAndSay(cast: Cast): Promise<void> {
  const { stage, policy, agent } = cast;
  await deleteInTheApi(cast);
  for (const object of [policy, agent]) await stage.annotate(object, { [ANNOTATION.reconcileRequestedAt]: NOW });
}

/** Declares a certificate, which the API cannot change in place: another certificate is another resource. */
async function authorise({ stage, each }: Cast, pem?: string): Promise<void> {
  const found = each.find(({ kind }) => kind === 'CertificateAuthority');
  if (!found) throw new Error('there are no certificate authorities');
  const { kind, name, row, n } = found;
  const { another } = await stage.declare(row, n);
  const replaced = pem === undefined ? [{}, {}] : [{ caPem: { value: pem } }, { ca_pem: pem }];
  const [spec, remote] = [another.spec, another.remote].map((given, index) => ({ ...given, ...replaced[index] }));
  await stage.apply({ kind, name, ...another, spec: { ...spec }, remote: { ...remote } });
}

async function createEach({ stage, each }: Cast): Promise<void> {
  for (const { kind, name, row, n } of each)
    await stage.apply({ kind, name, ...(await stage.declare(row, n)).another });
}

async function editEach({ stage, each }: Cast): Promise<void> {
  for (const { kind, name, row, n } of each)
    await stage.apply({ kind, name, ...(await stage.declare(row, n)).changed });
}

async function deleteEach({ stage, each }: Cast): Promise<void> {
  for (const object of each) await stage.remove(object);
}

async function deleteEachInTheApi(cast: Cast): Promise<void> {
  const { stage, each } = cast;
  await deleteInTheApi(cast);
  for (const object of each) await stage.annotate(object, { [ANNOTATION.reconcileRequestedAt]: NOW });
}

/** Undisturbed scenarios with every kind; the other scenarios are the same for each kind. */
export const withEveryKind = {
  createEach: { name: 'creates one of every kind', act: createEach },
  editEach: { name: 'follows an edit of one of every kind', given: createEach, act: editEach },
  remoteGoneEach: {
    name: 'recreates one of every kind after deletion in the API',
    given: createEach,
    act: deleteEachInTheApi,
  },
  deleteEach: { name: 'deletes one of every kind', given: createEach, act: deleteEach },
} satisfies Record<string, Scenario>;

async function editSecrets({ stage, each }: Cast, specOf: (one: Cast['each'][number]) => object): Promise<void> {
  for (const one of each) {
    const { kind, name, row, n } = one;
    const { another } = await stage.declare(row, n);
    await stage.apply({ kind, name, ...another, spec: { ...another.spec, ...specOf(one) } });
  }
}

/** An SSH host certificate has no rotation settings: once replaced, it is deleted in any case. */
const rotatesWithoutOverlap = ({ kind }: Pick<KindRow, 'kind'>) =>
  kind.spec instanceof z.ZodObject && 'rotation' in kind.spec.shape ? { rotation: { overlap: NO_OVERLAP } } : {};

/** The kinds that write a Secret. */
export const secretRows = storyRows.filter(({ kind }) => kind.delivery);

/** Undisturbed scenarios about the Secrets of such a kind. */
export const withSecrets = {
  createdWhileDown: { name: 'starts and creates one', act: createEach, whileDown: true },
  rotate: {
    name: 'rotates the value in the Secret',
    given: (cast) => editSecrets(cast, ({ kind }) => rotatesWithoutOverlap(kindRow(kind))),
    act: async ({ stage, each }) => {
      for (const object of each) await stage.annotate(object, { [ANNOTATION.rotateRequestedAt]: NOW });
    },
  },
  secretDeleted: {
    name: 'replaces a deleted Secret',
    given: createEach,
    act: async ({ stage, each }) => {
      for (const { name, row } of each) await stage.deleteSecret(`${name}${row.kind.delivery?.handout.suffix ?? ''}`);
    },
  },
  secretRenamed: {
    name: 'renames the Secret',
    given: createEach,
    act: (cast) => editSecrets(cast, ({ n }) => ({ secret: { name: `renamed-${n}` } })),
  },
} satisfies Record<string, Scenario>;

/** Scenarios in which nothing but the crash disturbs the operator: they end exactly as without it. */
export const undisturbedButFor = {
  createCredential: { name: 'creates a credential', act: createAgent },
  create: { name: 'creates a policy and a credential', act: createBoth },
  edit: { name: 'follows an edit of both', given: createBoth, act: editBoth },
  rotateWithOverlap: {
    name: 'rotates a token and revokes the old one later',
    given: (cast) => createBoth(cast, { rotation: { overlap: SOME_OVERLAP } }),
    act: rotate,
  },
  delete: { name: 'deletes both', given: createBoth, act: deleteBoth },
  remoteGone: { name: 'recreates what was deleted in the API', given: createBoth, act: deleteInTheApiAndSay },
  remoteGoneWhileDown: {
    name: 'starts and recreates what was deleted in the API',
    given: createBoth,
    act: deleteInTheApi,
    whileDown: true,
  },
} satisfies Record<string, Scenario>;

/** Checks that one more secret was issued for each object, and no resource was replaced. */
async function mustRotateOnce({ stage, each }: Cast, since: unknown): Promise<string[]> {
  const problems = each.map(async (one) => {
    const object = await stage.find(one);
    const { externalId, generation } = object ? readIdentity(object) : {};
    const text = "select 1 from events where id > $1 and resource_id = $2 and 'signing_secret' = any(changed_fields)";
    const { length } = await stage.query(text, [since, externalId]);
    return [
      ...(length === 1 ? [] : [`${length} secrets were issued instead of 1`]),
      ...(generation === 1 ? [] : [`it has its resource number ${generation}`]),
    ];
  });
  return (await Promise.all(problems)).flat();
}

/** A rotation of a value whose resource stays. */
export const rotateInPlace: Scenario = {
  name: 'rotates the signing secret of an event destination',
  rows: secretRows.filter(({ name }) => name === 'EventDestination'),
  given: (cast) => editSecrets(cast, () => ({ rotation: { overlap: SOME_OVERLAP } })),
  act: withSecrets.rotate.act,
  always: mustRotateOnce,
};

/** Scenarios in which something else happens before the operator is back. Only the final declaration counts. */
export const disturbedToo = {
  createdThenDeleted: {
    name: 'creates both, which are deleted before it is back',
    act: createBoth,
    meanwhile: deleteBoth,
  },
  createdThenEdited: {
    name: 'creates both, which are edited before it is back',
    act: createBoth,
    meanwhile: editBoth,
  },
  tokenExpired: {
    name: 'creates a credential, and the API has forgotten the token when it is back',
    act: createAgent,
    meanwhile: forgetTokens,
  },
  secretExpired: {
    ...rotateInPlace,
    name: 'rotates a signing secret, and the API has forgotten it when it is back',
    always: async () => [],
    meanwhile: forgetTokens,
  },
  keyExchanged: {
    name: 'creates a credential, and comes back with another API key',
    act: createAgent,
    meanwhile: ({ stage }) => stage.exchangeApiKey(),
  },
  secretDeletedToo: {
    name: 'rotates a token, and the Secret is deleted before it is back',
    given: (cast) => createBoth(cast, { rotation: { overlap: NO_OVERLAP } }),
    act: rotate,
    meanwhile: ({ stage, agent }) => stage.deleteSecret(agent.name),
  },
  rotatedThenDeleted: {
    name: 'rotates a token, and both are deleted before it is back',
    given: (cast) => createBoth(cast, { rotation: { overlap: NO_OVERLAP } }),
    act: rotate,
    meanwhile: deleteBoth,
  },
  replacedAndBack: {
    name: 'replaces an immutable resource, and the edit is reverted before it is back',
    given: authorise,
    act: async (cast) => authorise(cast, (await makeCertificate()).pem),
    meanwhile: authorise,
  },
  renamedTwice: {
    name: 'renames the Secret, and the name is changed again before it is back',
    given: createAgent,
    act: renameSecret('second'),
    meanwhile: renameSecret('third'),
  },
} satisfies Record<string, Scenario>;
