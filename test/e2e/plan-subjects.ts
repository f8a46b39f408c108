/** Describes what was changed in the API for one object in the terms of a plan. Only for test files. */
import { z } from 'zod';
import { asRecord } from '../../dev/fixtures/crd-schema.ts';
import { type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import type { Client } from '../../src/client/client.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { AttachedKind } from '../../src/operator/kinds/attached-kind.ts';
import { ifExists } from '../../src/operator/kinds/external-of-family.ts';
import type { FamilyField } from '../../src/operator/kinds/family-fields.ts';
import type { Remote } from '../../src/operator/managed/declaration/external.ts';
import { issuedAtIn } from '../../src/operator/managed/declaration/handout.ts';
import type { Edit } from './plan-lives.ts';
import type { Stack } from './stack.ts';

/** The state of one object in the API. */
export interface Found {
  /** The resources that the object may write to. */
  readonly ids: readonly string[];
  readonly remote: Remote;
  /** For modules: the id in the status of their object, which is that of the resource that has them. */
  readonly shown?: string | undefined;
  /** For modules: those left on another resource, to which the object referred before. */
  readonly elsewhere?: readonly string[];
}

interface Done {
  readonly action: string;
  readonly members: readonly string[];
}

export interface Subject {
  /**
   * Finds the resource that the object has, or is to have.
   * @param shown the id in its status
   * @param before what was found before the edit
   */
  find(edit: Edit, shown: string | undefined, before?: Found): Promise<Found | undefined>;
  done(before: Found | undefined, after: Found | undefined): Done;
  /** What the plan announces, reduced to what `done` can tell. */
  said(action: string, paths: readonly string[], before: Found | undefined, after: Found | undefined): Done;
}

const unique = (members: readonly string[]) => [...new Set(members)].sort();

export function ofKind(kind: KindRow['kind'], client: Client): Subject {
  const issued = (remote: Remote) => kind.delivery && issuedAtIn(kind.delivery.handout, remote);
  return {
    async find({ annotations }, shown) {
      const wanted = shown ?? annotations?.[ANNOTATION.adopt];
      const remote = wanted === undefined ? undefined : await ifExists(kind.calls(client).get(wanted));
      return remote && { ids: [remote.id], remote };
    },
    done(before, after) {
      if (!before) return { action: after ? 'create' : 'none', members: [] };
      const members = unique(differing(kind.fields, before.remote, after?.remote));
      if (before.remote.id !== after?.remote.id) return { action: 'replace', members };
      const isRotated = issued(before.remote) !== issued(after.remote);
      return { action: members.length > 0 || isRotated ? 'change' : 'none', members };
    },
    said: (action, paths) => ({
      action,
      members: action === 'create' ? [] : unique(paths.map((path) => pathIn(path)[0])),
    }),
  };
}

export function ofModules(kind: AttachedKind, { client, see }: Pick<Stack, 'client' | 'see'>): Subject {
  const external = kind.external(client);
  const owners = kindRows.find((row) => row.kind.family.name === kind.ownerFamily.name);
  const settingsOf = (found: Found | undefined) => asRecord(asRecord(found?.remote).modules);
  return {
    async find({ spec }, shown, before) {
      const { id: given, name } = reference.parse(asRecord(spec)[kind.ownerRef]);
      const id = given ?? (owners && name && (await see(owners.type, name)).status.id);
      const remote = await external.observe(String(id));
      const earlier = before?.shown ?? shown;
      const other = earlier === undefined || earlier === id ? undefined : await external.observe(earlier);
      const elsewhere = Object.keys(asRecord(asRecord(other).modules));
      return remote && { ids: [remote.id, earlier ?? []].flat(), remote, shown, elsewhere };
    },
    done(before, after) {
      const [old, now] = [settingsOf(before), settingsOf(after)];
      const members = kind.modules.flatMap(({ name, member, fields }) => {
        if (!old[name] || !now[name]) return old[name] === now[name] ? [] : [member];
        return differing(fields, asRecord(old[name]), asRecord(now[name])).map((each) => `${member}.${each}`);
      });
      const [had = [], has = []] = [before?.elsewhere, after?.elsewhere];
      if (had.length > 0 && has.length === 0) return { action: 'replace', members: unique(members) };
      if (members.length === 0) return { action: 'none', members };
      return { action: Object.keys(old).length === 0 ? 'create' : 'change', members: unique(members) };
    },
    said(action, paths, before, after) {
      const [old, now] = [settingsOf(before), settingsOf(after)];
      const members = paths.flatMap((path) => {
        const [member, setting] = pathIn(path);
        // A plan to create also lists the owner, which `done` does not.
        if (member === kind.ownerRef && action === 'create') return [];
        const { name = '' } = kind.modules.find((each) => each.member === member) ?? {};
        return old[name] && now[name] ? `${member}.${setting}` : member;
      });
      return { action, members: unique(members) };
    },
  };
}

const reference = z.object({ id: z.string().optional(), name: z.string().optional() });

function differing(fields: readonly FamilyField[], before: object, after: object = {}): string[] {
  const [old, now] = [before, after].map((each) => new Map<string, unknown>(Object.entries(each)));
  const changed = fields.filter(
    // A plan cannot know the prefix of a new token.
    ({ shownAs }) =>
      shownAs !== 'token_prefix' && JSON.stringify(old?.get(shownAs)) !== JSON.stringify(now?.get(shownAs)),
  );
  return changed.map(({ member }) => member);
}

/** The first two names after `spec`: `oidc` and `issuer` of `spec.oidc.issuer`. */
function pathIn(path: string): [member: string, setting: string] {
  const [, member = '', setting = ''] = path.split(/[.[]/);
  return [member, setting];
}
