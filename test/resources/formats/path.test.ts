import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalPath, requestPath } from '../../../src/resources/formats/path.ts';

const reason = (path: string) => requestPath.safeParse(path).error?.issues[0]?.message;

describe('the path of a route', () => {
  test.each(['/', '/api', '/a%20b', "/~a/b;c=d,e:@!$&'()*+", '/%C3%A9', '/%2e%2e%2e', '/a%2e', '/%2ewell', '/...'])(
    'may be %s',
    (path) => expect(reason(path)).toBeUndefined(),
  );

  test.each(['/%2e', '/%2E%2e/b', '/.%2e', '/a/%2e./b', '/%2E/', '/.', '/a/../b'])(
    'may not be %s, in which servers read dots',
    (path) => expect(reason(path)).toMatch(/segment.*%2e/),
  );

  test.each(['', 'api', '/a b', '/a?b', '/a#b', '/é', '/%zz', '/a\n'])('may not be %j', (path) =>
    expect(reason(path)).toMatch(/must be a path/),
  );

  test.each(['//', '//a', '/a//b', '/a//'])('may not be %s, in which servers merge slashes', (path) =>
    expect(reason(path)).toContain('"//"'),
  );
});

describe('the normal form of a path', () => {
  test.each([
    ['/%61dmin', '/admin'],
    ['/a%2fb', '/a%2Fb'],
    ['/%7e%7E~', '/~~~'],
    ['/%41%5f%2d%2E%30', '/A_-.0'],
    ['/%25%36%31', '/%2561'],
    ['/%c3%a9', '/%C3%A9'],
    ['/%2A*', '/%2A*'],
  ])('of %s is %s', (path, normal) => {
    expect(normalPath(path)).toBe(normal);
    expect(normalPath(normal)).toBe(normal);
  });

  test('decodes to the same bytes', () => {
    const part = fc.oneof(fc.stringMatching(/^[A-Za-z0-9._~*+-]$/), fc.stringMatching(/^%[0-7][0-9A-Fa-f]$/));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const path = parts.join('');
        expect(decodeURIComponent(normalPath(path))).toBe(decodeURIComponent(path));
      }),
    );
  });
});
