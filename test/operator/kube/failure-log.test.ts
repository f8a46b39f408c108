import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FailureLog } from '../../../src/operator/kube/failure-log.ts';

test('a failure is logged with its stack once, then in one line, until there was a success', () => {
  const lines: Record<string, unknown>[] = [];
  const log = new FailureLog(pino({}, { write: (line) => void lines.push(JSON.parse(line)) }));
  log.warn(new TypeError('down'), 'it failed', { resource: 'a' });
  log.warn(new TypeError('down'), 'it failed', { resource: 'b' });
  log.warn(new Error('down'), 'it failed');
  log.warn('thrown', 'it failed');
  log.warn('thrown', 'it failed');
  log.succeeded();
  log.warn(new TypeError('down'), 'it failed');
  const whole = (type: string) => ({ type, message: 'down', stack: expect.stringContaining('failure-log.test.ts') });
  expect(lines.map(({ time: _, pid: __, hostname: ___, ...line }) => line)).toEqual([
    { level: 40, msg: 'it failed', resource: 'a', err: whole('TypeError') },
    { level: 40, msg: 'it failed', resource: 'b', error: 'TypeError: down' },
    { level: 40, msg: 'it failed', err: whole('Error') },
    { level: 40, msg: 'it failed', err: 'thrown' },
    { level: 40, msg: 'it failed', error: 'thrown' },
    { level: 40, msg: 'it failed', err: whole('TypeError') },
  ]);
});
