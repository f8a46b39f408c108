/** An IP policy with its rules, which are resources of their own in the API. */
import { describe, expect, test } from 'vitest';
import { remember } from '../../../src/client/entity-tags.ts';
import { ApiError } from '../../../src/client/errors.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { StaleObject } from '../../../src/operator/managed/declaration/external.ts';

const ID = 'ipp_01jd0000000000000000000000';
const OTHER_ID = 'ipp_01jd0000000000000000000001';

interface Rule {
  cidr: string;
  action: 'allow' | 'deny';
  description?: string | null;
  metadata?: string | null;
}
const rule = (cidr: string, more: Partial<Rule> = {}): Rule => ({ cidr, action: 'allow', ...more });
const shown = (given: Rule, policyId = ID) => ({
  description: null,
  metadata: null,
  ip_policy: { id: policyId },
  ...given,
});
const spec = (rules: Rule[], description?: string) => ({ description, rules }) as never;

interface Told {
  replayed?: boolean;
  /** Whether the policy changes between the reads of the policy and its rules. */
  changes?: boolean;
  missing?: 'policy' | 'rules';
}

/** An API with one policy, which counts its revisions. */
function policyWith(rules: Rule[], { replayed = false, changes = false, missing }: Told = {}) {
  let [revision, current, description] = [1, rules, null as string | null];
  const sent: unknown[] = [];
  const tagged = <T extends object>(value: T, at = revision) => remember(value, { etag: `"${at}"`, replayed });
  const policy = (id = ID) => ({ id, uri: 'https://api.example.com/ip_policies/1', description, metadata: null });
  const notFound = () => new ApiError({ error_code: 'NOT_FOUND', status_code: 404, msg: 'gone', details: {} });
  const client = {
    ipPolicies: {
      create: async () => tagged(policy()),
      async get() {
        if (missing === 'policy') throw notFound();
        return tagged(policy());
      },
      async update(_: string, body: { description: string }, { ifMatch }: { ifMatch: string }) {
        sent.push(['update', body, ifMatch]);
        [revision, description] = [revision + 1, body.description];
        return tagged(policy());
      },
      async *list() {
        yield* [policy(), policy(OTHER_ID)];
      },
    },
    async rulesOf() {
      if (missing === 'rules') throw notFound();
      return tagged(
        current.map((each) => shown(each)),
        changes ? revision + 1 : revision,
      );
    },
    async replaceRules(_: string, body: { rules: Rule[] }, { ifMatch }: { ifMatch: string }) {
      sent.push(['rules', body.rules.map(({ cidr, action }) => `${action} ${cidr}`), ifMatch]);
      [revision, current] = [revision + 1, body.rules];
      return tagged(current.map((each) => shown(each)));
    },
    ipPolicyRules: {
      async *list() {
        yield* [...current.map((each) => shown(each)), shown(rule('203.0.113.0/24'), OTHER_ID)];
      },
    },
  };
  return { sent, external: ipPolicyKind.external(client as never) };
}

async function observed({ external }: ReturnType<typeof policyWith>) {
  const remote = await external.observe(ID);
  if (!remote) throw new Error('there is no policy');
  return remote;
}

const [one, two] = [rule('192.0.2.0/24'), rule('198.51.100.0/24')];

describe('a policy', () => {
  test('is read with its rules', async () => {
    expect(await observed(policyWith([one, two]))).toMatchObject({ id: ID, etag: '"1"', rules: [one, two] });
  });

  test.each(['policy', 'rules'] as const)('is gone if the API does not find the %s', async (missing) => {
    expect(await policyWith([one], { missing }).external.observe(ID)).toBeUndefined();
  });

  test('that changes while it is read is stale', async () => {
    await expect(policyWith([one], { changes: true }).external.observe(ID)).rejects.toThrow(StaleObject);
  });

  test('is listed with its rules, which are kept only for the requested ids', async () => {
    const { external } = policyWith([one, two]);
    const all = await Array.fromAsync(external.all());
    expect(all.map(({ id, rules }) => [id, rules.map(({ cidr }) => cidr)])).toEqual([
      [ID, [one.cidr, two.cidr]],
      [OTHER_ID, ['203.0.113.0/24']],
    ]);
    const none = await Array.fromAsync(policyWith([]).external.all(new Set([ID])));
    expect(none.map(({ id, rules }) => [id, rules.length])).toEqual([
      [ID, 0],
      [OTHER_ID, 0],
    ]);
  });
});

describe('rules', () => {
  test.each([
    ['are the same in another order', [two, one], []],
    ['differ by an additional rule', [one, two, rule('203.0.113.0/24')], ['rules']],
    ['differ by a missing rule', [one], ['rules']],
    ['differ in a CIDR block', [one, rule('203.0.113.0/24')], ['rules']],
    ['differ in an action', [one, { ...two, action: 'deny' as const }], ['rules']],
    ['differ in a description', [one, { ...two, description: 'office' }], ['rules']],
  ])('%s', async (_, desired, changes) => {
    const given = policyWith([one, two]);
    expect(given.external.changes(spec(desired), await observed(given))).toEqual(changes);
  });

  test('are set with a new policy, unless there are none', async () => {
    const given = policyWith([]);
    const made = await given.external.create(spec([one]), {});
    expect(given.sent).toEqual([['rules', ['allow 192.0.2.0/24'], '"1"']]);
    expect(made).toMatchObject({ etag: '"2"', rules: [one] });
    const without = policyWith([]);
    expect(await without.external.create(spec([]), {})).toMatchObject({ rules: [] });
    expect(without.sent).toEqual([]);
  });

  test('are replaced at the revision that the update of the policy made', async () => {
    const given = policyWith([one]);
    const updated = await given.external.update(await observed(given), spec([one, two], 'office'));
    expect(given.sent).toEqual([
      ['update', { description: 'office', metadata: null }, '"1"'],
      ['rules', ['allow 192.0.2.0/24', 'allow 198.51.100.0/24'], '"2"'],
    ]);
    expect(updated).toMatchObject({ etag: '"3"', description: 'office' });
  });
});
