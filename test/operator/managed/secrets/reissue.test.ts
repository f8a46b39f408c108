import { describe, expect, test } from 'vitest';
import { decideReissue, reissueTime } from '../../../../src/operator/managed/secrets/reissue.ts';
import { object } from '../../objects.ts';

const DAY = 24 * 3_600_000;
const FROM = '2026-01-01T00:00:00.000Z';
const since = (ms: number) => new Date(Date.parse(FROM) + ms);
const term = (days: number) => ({ from: FROM, until: since(days * DAY).toISOString() });

test.each([
  ['30 days before its end', 365, undefined, 335],
  ['as long before its end as declared', 365, '240h', 355],
  ['at its end, when that is declared', 365, '0s', 365],
  ['when a third of a short term is left', 60, undefined, 40],
  ['when a third is left, if more is declared', 90, '1440h', 60],
  ['at the end of a term that was over from the start', -1, undefined, -1],
])('a value with a term is replaced %s', (_, days, renewBefore, expected) => {
  expect(reissueTime(term(days), renewBefore)).toEqual(since(expected * DAY));
});

describe('a reissue', () => {
  const decide = (annotations: Parameters<typeof object>[1], at: Date | undefined, now = since(0)) =>
    decideReissue(object({}, annotations), 'certificate', { at, until: term(9).until }, now);

  test('is due from its time onwards', () => {
    expect(decide({}, since(DAY), since(DAY - 1))).toEqual({ at: since(DAY) });
    const { due } = decide({}, since(DAY), since(DAY));
    expect(due).toMatchObject({ cause: 'expiring', overlapMs: 0 });
    expect(due?.message).toContain(`ends at ${term(9).until}`);
  });

  test('is due on request, once', () => {
    const asked = decide({ rotateRequestedAt: 'x' }, undefined);
    expect(asked).toMatchObject({ due: { cause: 'requested', overlapMs: 0 } });
    expect(decide({ rotateRequestedAt: 'x', rotateHandledAt: 'x' }, undefined)).toEqual({});
    expect(decide({}, undefined)).toEqual({});
  });
});
