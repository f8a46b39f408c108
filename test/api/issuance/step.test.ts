import { describe, expect, test } from 'vitest';
import { JobFailed } from '../../../src/api/issuance/reasons.ts';
import { NOT_STARTED } from '../../../src/resources/reserved-domain.ts';
import { acmeError, DAY, HOUR, simulate } from './simulation.ts';

const START = new Date('2026-01-01T00:00:00Z');
const later = (ms: number) => new Date(START.getTime() + ms);
const MINUTE = HOUR / 60;

describe('over a year', () => {
  test.each([
    ['90 days', 90 * DAY, 6],
    ['45 days', 45 * DAY, 12],
    ['160 hours', 160 * HOUR, 82],
  ])(
    'certificates of %s are renewed after two thirds of their lifetime, less a little',
    async (_, lifetime, expected) => {
      const simulation = simulate({ lifetime });
      let least = 1;
      for (let day = 0; day < 365; day += 0.5) {
        await simulation.until(later((day + 0.5) * DAY));
        const left = (simulation.present?.notAfter.getTime() ?? 0) - simulation.now.getTime();
        least = Math.min(least, left / lifetime);
      }
      const orders = simulation.at('newOrder');
      expect(orders.length).toBeGreaterThanOrEqual(expected - 1);
      // At most 5 % more often than after two thirds.
      expect(orders.length).toBeLessThanOrEqual(Math.ceil((365 * DAY) / (lifetime * (2 / 3 - 0.05))) + 1);
      expect(least).toBeGreaterThan(0.2);
      const placed = simulation.requests.filter(({ request }) => request === 'newOrder');
      const [first, ...replaced] = placed.map(({ replaces }) => replaces);
      expect(first).toBeUndefined();
      expect(replaced).toEqual(replaced.map(() => expect.stringMatching(/^AQIDBA\./)));
      expect(new Set(replaced).size).toBe(replaced.length);
    },
  );
});

describe('an authority that says when to renew', () => {
  test('is asked every six hours, and the renewal falls into its window', async () => {
    const given = { start: later(20 * DAY), end: later(21 * DAY), retryAfterMs: null };
    const simulation = simulate({ window: () => given });
    await simulation.until(later(30 * DAY));
    const [, renewal, ...others] = simulation.at('newOrder');
    expect(renewal?.getTime()).toBeGreaterThanOrEqual(given.start.getTime());
    expect(renewal?.getTime()).toBeLessThan(given.end.getTime());
    // The window stays the same for the new certificate, as it did at Let's Encrypt.
    expect(others).toEqual([]);
    const polls = simulation.at('renewalWindow').map((at) => at.getTime());
    const pauses = polls.slice(1).map((at, index) => at - (polls[index] ?? 0));
    // A new certificate is asked about at once.
    expect(pauses.filter((pause) => pause < 6 * HOUR)).toHaveLength(1);
  });

  test('and wants each certificate to be renewed at once gets one a day', async () => {
    const simulation = simulate({
      window: (_, now) => ({
        ...{ start: new Date(now.getTime() - HOUR), end: new Date(now.getTime() - HOUR / 2) },
        retryAfterMs: null,
      }),
    });
    await simulation.until(later(5 * DAY));
    const orders = simulation.at('newOrder').map((at) => at.getTime());
    expect(orders.length).toBeGreaterThan(2);
    const pauses = orders.slice(1).map((at, index) => at - (orders[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(DAY - MINUTE);
  });

  test('and does not respond changes nothing', async () => {
    const simulation = simulate({
      before: (request) => {
        if (request === 'renewalWindow') throw acmeError(null, 503);
      },
    });
    await simulation.until(later(90 * DAY));
    expect(simulation.at('newOrder')).toHaveLength(2);
  });

  test('and has a replacement already is asked once more without naming the certificate', async () => {
    let refused = 0;
    const simulation = simulate({
      before(request, { requests }) {
        if (request !== 'newOrder' || requests.at(-1)?.replaces === undefined) return;
        refused += 1;
        throw acmeError('alreadyReplaced', 409);
      },
    });
    await simulation.until(later(90 * DAY));
    expect(refused).toBe(1);
    expect(simulation.at('newOrder')).toHaveLength(3);
    expect(simulation.at('download')).toHaveLength(2);
  });
});

describe('an authority in trouble', () => {
  test.each([
    ['answers 500', acmeError(null, 500), 30_000],
    ['cannot be reached', acmeError(null, null), 30_000],
    ['asks to wait 2 minutes', acmeError('rateLimited', 429, 120_000), 120_000],
    ['asks to wait a day', acmeError('rateLimited', 429, DAY), DAY],
  ])('that %s is not asked earlier', async (_, error, least) => {
    const simulation = simulate({
      before(request, { now }) {
        if (request === 'newOrder' && now.getTime() - START.getTime() < 10 * MINUTE) throw error;
      },
    });
    await simulation.step();
    expect(simulation.job.status.provisioning_job).toMatchObject({
      error_code: 'INTERNAL_ERROR',
      msg: expect.stringContaining('the authority says so'),
      started_at: START.toISOString(),
    });
    await simulation.until(later(2 * DAY));
    const [first, second, third = later(2 * DAY)] = simulation.at('newOrder').map((at) => at.getTime());
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(least);
    expect(Number(third) - Number(second)).toBeGreaterThanOrEqual(30_000);
    expect(simulation.job.status.provisioning_job).toBeNull();
  });

  test('that rejects the domain is asked at most four times an hour', async () => {
    const simulation = simulate({
      before(request) {
        if (request === 'newOrder') throw acmeError('rejectedIdentifier', 400);
      },
    });
    await simulation.until(later(10 * DAY));
    expect(simulation.job.status.provisioning_job?.error_code).toBe('DNS_ERROR');
    const orders = simulation.at('newOrder').map((at) => at.getTime());
    const inHour = orders.map((from) => orders.filter((at) => at >= from && at < from + HOUR).length);
    expect(Math.max(...inHour)).toBeLessThanOrEqual(4);
  });

  test.each([
    ['lost the order', acmeError('malformed', 404)],
    ['lost the account', acmeError('accountDoesNotExist', 400)],
  ])('that has %s gets another one', async (_, error) => {
    let isLost = true;
    const simulation = simulate({
      before(request) {
        if (request !== 'order' || !isLost) return;
        isLost = false;
        throw error;
      },
    });
    await simulation.until(later(HOUR));
    expect(simulation.at('newOrder')).toHaveLength(2);
    expect(simulation.job.status.provisioning_job).toBeNull();
  });
});

test('nothing is asked of the authority while the DNS records are wrong', async () => {
  let isWrong = true;
  const simulation = simulate({
    context: {
      wantedRecord: () => ({ name: 'a.example', target: 'x.cname.service.example', orAddresses: true }),
      selfCheck: async () => {
        if (isWrong) throw new JobFailed('DNS_ERROR', 'self-check: a.example has no CNAME record');
      },
    },
  });
  await simulation.until(later(3 * HOUR));
  expect(simulation.requests).toEqual([]);
  const { provisioning_job: job } = simulation.job.status;
  expect(job).toMatchObject({ error_code: 'DNS_ERROR', msg: 'self-check: a.example has no CNAME record' });
  isWrong = false;
  await simulation.until(new Date(job?.retries_at ?? 0));
  await simulation.until(new Date(simulation.now.getTime() + MINUTE));
  expect(simulation.job.status.provisioning_job).toBeNull();
});

describe('what an authority may do', () => {
  /** The requests of a first certificate. */
  const first = async (options: Parameters<typeof simulate>[0], ms = HOUR) => {
    const simulation = simulate(options);
    await simulation.until(later(ms));
    return simulation;
  };

  test('it is told once to validate, however long that takes', async () => {
    const told = new Set<string>();
    const simulation = await first({
      context: {
        storeChallenge: async (_, token) => told.has(token),
        noteAnswered: async (token) => void told.add(token),
      },
      before(request, { now }) {
        if (request === 'answer' && now.getTime() - START.getTime() < 20_000) throw acmeError('serverInternal', 500);
      },
    });
    expect(simulation.job.status.provisioning_job).toBeNull();
    expect(simulation.at('answer')).toHaveLength(2);
  });

  test.each([
    ['at once', 0, 4_000],
    ['in three hundred years', 1e13, 200],
  ])('it may ask to be looked at %s, within reason', async (_, retryAfterMs, most) => {
    const simulation = await first({ stuck: { retryAfterMs } }, 23 * HOUR);
    expect(simulation.at('order').length).toBeLessThan(most);
    expect(simulation.at('order').length).toBeGreaterThan(10);
  });

  test('it may not keep an order open for ever', async () => {
    const simulation = await first({ stuck: { retryAfterMs: null } }, 2 * DAY);
    expect(simulation.at('newOrder').length).toBe(2);
  });

  test('it may send a certificate for another name, which is not used', async () => {
    const simulation = await first({ names: ['other.example'] }, MINUTE);
    expect(simulation.present).toBeUndefined();
    expect(simulation.job.status.provisioning_job).toMatchObject({
      error_code: 'INTERNAL_ERROR',
      msg: expect.stringContaining('is for other.example, not for a.example'),
    });
    expect(simulation.job.orderUrl).toBeNull();
  });

  test('it may be another one by now, and gets an order of its own', async () => {
    const simulation = simulate();
    simulation.job = { ...simulation.job, orderUrl: 'https://gone.example/order/7', orderedAt: later(-HOUR) };
    await simulation.until(later(HOUR));
    expect(simulation.job.status.provisioning_job).toBeNull();
    expect(simulation.at('newOrder')).toHaveLength(1);
  });

  test('it may want a renewal after the end, which is not waited for', async () => {
    const window = { start: later(400 * DAY), end: later(401 * DAY), retryAfterMs: null };
    const simulation = await first({ window: () => window }, 80 * DAY);
    expect(simulation.at('newOrder')).toHaveLength(2);
  });
});

test('another policy does not place orders one after the other', async () => {
  const simulation = simulate();
  await simulation.until(later(MINUTE));
  for (let change = 0; change < 20; change += 1) {
    const again = { orderAt: null, orderUrl: null, status: NOT_STARTED, issuedAt: null };
    simulation.job = { ...simulation.job, ...again };
    simulation.present = undefined;
    await simulation.step();
  }
  const orders = simulation.at('newOrder').map((at) => at.getTime());
  const pauses = orders.slice(1).map((at, index) => at - (orders[index] ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(10 * MINUTE);
});

test('checks that fail for hours do not lengthen the wait after the first failed validation', async () => {
  let isWrong = true;
  const simulation = simulate({
    context: {
      wantedRecord: () => ({ name: 'a.example', target: 'x', orAddresses: true }),
      selfCheck: async () => {
        if (isWrong) throw new JobFailed('DNS_ERROR', 'self-check');
      },
    },
    before(request) {
      if (request === 'newOrder') throw acmeError('rejectedIdentifier', 400);
    },
  });
  await simulation.until(later(5 * HOUR));
  isWrong = false;
  await simulation.until(later(6 * HOUR));
  const [failed, again] = simulation.at('newOrder');
  expect(Number(again) - Number(failed)).toBeLessThanOrEqual(15 * MINUTE);
});
