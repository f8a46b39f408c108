/** The whole rule set of an IP policy: reads it, or replaces it in one transaction. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { newId, timeOfId } from '../../resources/definition/id.ts';
import { setByService, showing } from '../../resources/definition/read-only.ts';
import { ipPolicy } from '../../resources/ip-policy.ts';
import { ipPolicyRule, type RuleSetMember, ruleSet, ruleSetMember } from '../../resources/ip-policy-rule.ts';
import { belongingTo, type Family, idParameter, writeLocked, writeRow } from '../crud/family.ts';
import { isUnchanged } from '../http/entity-tags.ts';
import { type Operation, operation } from '../http/operation.ts';
import { refuseUnlessShown } from '../http/read-only-members.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import type { Row } from '../store/repository.ts';
import { ruleChanges } from './rule-changes.ts';

type Policies = Family<typeof ipPolicy>;
type Rules = Family<typeof ipPolicyRule>;

const ruleSetView = z
  .object({
    ip_policy_rules: z
      .array(ipPolicyRule.view)
      .meta({ description: 'All rules of the policy, ordered by CIDR block as text.' }),
    uri: z.url().meta({ description: 'Address of the rule set.' }),
  })
  .meta({ id: 'IPPolicyRuleSet' });

const settable = Object.keys(ruleSetMember.shape);
const shownInRules = [...Object.keys(ipPolicyRule.view.shape), ...Object.keys(ipPolicyRule.fields)];

/** The members that GET shows: `ip_policy_rules`, each with its read-only members. */
const RULE_SET_READ_ONLY = {
  members: { ...setByService(['uri']), ip_policy_rules: showing('rules') },
  inside: { rules: setByService(shownInRules.filter((name) => !settable.includes(name))) },
};

const common = {
  path: `${ipPolicy.path}/{id}/rules`,
  params: { id: idParameter(ipPolicy) },
  ...belongingTo(ipPolicy),
  tagged: true,
} as const;

function answer({ show }: Rules, policy: Pick<Row, 'id' | 'revision'>, rows: readonly Row[], base: string) {
  const shown = rows.toSorted((a, b) => (String(a.cidr) < String(b.cidr) ? -1 : 1)).map((row) => show(row, base));
  const uri = `${base}${ipPolicy.path}/${policy.id}/rules`;
  return { body: { ip_policy_rules: shown, uri }, revision: policy.revision };
}

/** Bytes of a rule as JSON, without description and metadata. */
const SHORT_MEMBERS = 400;

const SIZE = `
  select coalesce(sum(${SHORT_MEMBERS} + octet_length(to_json(concat(description, metadata))::text)), 0) as bytes
    from ip_policy_rules where ip_policy_id = $1 and ${ofThisAccount()}`;

/** Approximate size of a policy's rule set as JSON: up to 26 MB, since it is not paged. */
async function sizeOf(db: Executor, policyId: string): Promise<number> {
  const [found] = await db.query({ name: 'ip_policy_rules.size', text: SIZE, values: [policyId] });
  return Number(found?.bytes);
}

export const getRuleSet = (policies: Policies, rules: Rules): Operation =>
  operation({
    ...common,
    method: 'GET',
    operationId: 'getIpPolicyRuleSet',
    summary: 'Get all rules of an IP policy',
    description: 'Lists all rules, ordered by CIDR block as text, on one page. The `ETag` is that of the policy.',
    success: { status: 200, description: 'All rules of the policy.', schema: ruleSetView },
    async handle(call, { db }) {
      const { params, base, ifNoneMatch } = call;
      const { id } = params;
      const policy = policies.require(await policies.rows.get(db, id), id, call);
      if (isUnchanged(ifNoneMatch, policy.revision)) return { status: 304, revision: policy.revision };
      call.reserve(await sizeOf(db, id));
      return answer(rules, policy, await rules.rows.where(db, 'ip_policy_id', id), base);
    },
  });

export const replaceRuleSet = (policies: Policies, rules: Rules): Operation =>
  operation({
    ...common,
    method: 'PUT',
    operationId: 'replaceIpPolicyRuleSet',
    summary: 'Replace all rules of an IP policy',
    description:
      'Makes the rules of the policy exactly those in the body, in one transaction and with one event. Rules are matched ' +
      'by CIDR block: those that stay keep their id.',
    body: ruleSet,
    readOnly: RULE_SET_READ_ONLY,
    manages: 'optionally',
    success: { status: 200, description: 'All rules of the policy.', schema: ruleSetView },
    errors: ['NOT_FOUND', 'PRECONDITION_FAILED', 'QUOTA_EXCEEDED'],
    async handle(call, api) {
      // Outside the transaction, which may be retried.
      call.reserve(await sizeOf(api.db, call.params.id));
      return writeLocked(api, policies, call, async (context, policy) => {
        const { tx } = context;
        const { base } = call;
        const current = await rules.rows.where(tx, 'ip_policy_id', policy.id);
        const { created, updated: changed, deleted, kept } = plan(current, call.body.rules, policy.id);
        const updated = changed.map(([row]) => row);
        const rows = [...kept, ...updated, ...created];
        if (call.sentBack.length > 0) {
          // Includes `ip_policy_id`, which responses show as a Ref.
          const asSent = (row: Row | undefined) => row && { ...row, ...rules.show(row, base) };
          const next = new Map(rows.map((row) => [row.cidr, row]));
          refuseUnlessShown(
            call.sentBack,
            { ...answer(rules, policy, current, base).body, rules: current.map(asSent) },
            { rules: call.body.rules.map(({ cidr }) => asSent(next.get(cidr))) },
          );
        }
        if (created.length + updated.length + deleted.length === 0) return answer(rules, policy, rows, base);
        await rules.rows.removeMany(
          tx,
          deleted.map(({ id }) => id),
        );
        await rules.rows.updateMany(tx, updated);
        await rules.rows.insertMany(tx, created);
        const details = ruleChanges({ added: created, changed, removed: deleted });
        const revision = await writeRow(context, policies, policy, policy, details);
        return answer(rules, { id: policy.id, revision }, rows, base);
      });
    },
  });

/** The changes that make the rule set `wanted`. Rules are matched by CIDR block. */
export function plan(current: readonly Row[], wanted: readonly RuleSetMember[], policyId: string) {
  const byCidr = new Map(current.map((row) => [row.cidr, row]));
  const result = {
    created: [] as Row[],
    /** Each rule after and before the change. */
    updated: [] as [Row, Row][],
    kept: [] as Row[],
    deleted: [] as Row[],
  };
  for (const { cidr, action, description = null, metadata = null } of wanted) {
    const fields = { description, metadata, cidr, action, ip_policy_id: policyId };
    const row = byCidr.get(cidr);
    byCidr.delete(cidr);
    if (!row) {
      const id = newId(ipPolicyRule.prefix);
      result.created.push({ ...fields, id, created_at: timeOfId(id), revision: 1 });
    } else if (isDeepStrictEqual({ ...row, ...fields }, row)) result.kept.push(row);
    else result.updated.push([{ ...row, ...fields }, row]);
  }
  result.deleted.push(...byCidr.values());
  return result;
}
