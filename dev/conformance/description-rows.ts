/** The rows about description and metadata, which nearly every family has. */
import { created, get, invalid, ok, patch, post, type Row, type Step } from './row.ts';

export interface Described {
  /** As in a sentence: `an IP policy`. */
  readonly one: string;
  readonly path: string;
  readonly least: Readonly<Record<string, unknown>>;
  readonly given?: Readonly<Record<string, Step>>;
  /** What the limits of 255 and 4,096 count. */
  readonly unit: 'bytes' | 'chars';
}

/** Default, round trip, limits on create and on update, and null. */
export function described({ one, path, least, given = {}, unit }: Described): Row[] {
  const make = (more: Record<string, unknown>) => post(path, { ...least, ...more });
  const both = { description: 'the office', metadata: '{"team":"platform"}' };
  const limits = { description: 255, metadata: 4096 };
  return [
    {
      rule: `Description and metadata of ${one} may be left out; they are then null`,
      given,
      ask: make({}),
      answer: created({ description: null, metadata: null }),
    },
    {
      rule: `Description and metadata of ${one} are returned unchanged`,
      given: { ...given, made: make(both) },
      ask: get(`${path}/{made.id}`),
      answer: ok(both),
    },
    {
      rule: `Updating either the description or the metadata of ${one} leaves the other alone; null removes it`,
      given: { ...given, made: make(both) },
      ask: patch(`${path}/{made.id}`, { description: null }),
      answer: ok({ ...both, description: null }),
      later: [[patch(`${path}/{made.id}`, { metadata: 'new' }), ok({ description: null, metadata: 'new' })]],
    },
    ...Object.entries(limits).map(([name, limit]) => ({
      rule: `The ${name} of ${one} may have ${limit} ${unit} and no more`,
      given,
      ask: make({ [name]: longest(limit, unit) }),
      answer: created({ [name]: longest(limit, unit) }),
      later: [
        [make({ [name]: `${longest(limit, unit)}x` }), invalid({ [`/${name}`]: new RegExp(`${limit} ${WORD[unit]}`) })],
      ] as const,
    })),
    ...Object.entries(limits).map(([name, limit]) => ({
      rule: `The same limit applies to the ${name} when updating ${one}`,
      given: { ...given, made: make(both) },
      ask: patch(`${path}/{made.id}`, { [name]: `${longest(limit, unit)}x` }),
      answer: invalid({ [`/${name}`]: new RegExp(`${limit} ${WORD[unit]}`) }),
      later: [[get(`${path}/{made.id}`), ok(both)]] as const,
    })),
  ];
}

/** How error messages name the unit. */
const WORD = { bytes: 'bytes', chars: 'characters' };

/** The longest text that fits, of characters that are longer than a byte where that matters. */
export function longest(limit: number, unit: 'bytes' | 'chars'): string {
  if (unit === 'chars') return 'ä'.repeat(limit);
  return 'ä'.repeat(limit >> 1) + 'x'.repeat(limit % 2);
}
