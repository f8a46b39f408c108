/** The rows that both kinds of edges have. */

import { created, del, invalid, noContent, ok, patch, post, type Row, refused } from './row.ts';
import { capital } from './subject.ts';

interface Edges {
  /** As in a sentence: `an HTTPS edge`. */
  readonly one: string;
  /** As in errors that name it: `https_edge`. */
  readonly name: string;
  readonly path: string;
  /** Path of the other kind. */
  readonly otherPath: string;
}

const domains = '/reserved_domains';
const DOMAIN = '{unique}.example.com';
const given = { domain: post(domains, { domain: DOMAIN }) };

export function edgeRows({ one, name, path, otherPath }: Edges): Row[] {
  const listen = (...hostports: unknown[]) => post(path, { hostports });
  const address = `${path}/{made.id}`;
  return [
    {
      rule: `${capital(one)} listens on ports of a reserved domain, which is shown in lower case`,
      given,
      ask: listen('{unique}.Example.COM:443', `${DOMAIN}:8443`),
      answer: created({ hostports: [`${DOMAIN}:443`, `${DOMAIN}:8443`] }),
    },
    {
      rule: `Hostports in an update replace those of ${one}; null removes them`,
      given: { ...given, made: listen(`${DOMAIN}:443`, `${DOMAIN}:8443`) },
      ask: patch(address, { hostports: [`${DOMAIN}:8443`, `${DOMAIN}:9443`] }),
      answer: ok({ hostports: [`${DOMAIN}:8443`, `${DOMAIN}:9443`] }),
      later: [[patch(address, { hostports: null }), ok({ hostports: [] })]],
    },
    {
      rule: `A wildcard covers every name below it, at any depth, for ${one}`,
      given: { wildcard: post(domains, { domain: `*.${DOMAIN}` }) },
      ask: listen(`a.b.${DOMAIN}:443`, `*.${DOMAIN}:443`),
      answer: created({ hostports: [`a.b.${DOMAIN}:443`, `*.${DOMAIN}:443`] }),
      later: [[listen(`${DOMAIN}:443`), invalid({ '/hostports/0': /not covered by a reserved domain/ })]],
    },
    {
      rule: `${capital(one)} cannot listen on a domain that is not reserved; the error lists every such hostport`,
      given,
      ask: listen(`${DOMAIN}:443`, `a.${DOMAIN}:443`, `b.${DOMAIN}:443`),
      answer: invalid({
        '/hostports/1': /not covered by a reserved domain; reserve/,
        '/hostports/2': /not covered by a reserved domain; reserve/,
      }),
    },
    {
      rule: `A hostport of ${one} has a domain and a port from 1 to 65535`,
      given,
      ask: listen(DOMAIN, `${DOMAIN}:0`, `${DOMAIN}:65536`, ':443', '443', '192.0.2.1:443', 'localhost:443'),
      answer: invalid({
        '/hostports/0': /domain:port/,
        '/hostports/1': /domain:port/,
        '/hostports/2': /domain:port/,
        '/hostports/3': /domain:port/,
        '/hostports/4': /domain:port/,
        '/hostports/5': /IP address/,
        '/hostports/6': /two labels/,
      }),
      later: [[listen(`${DOMAIN}:1`, `${DOMAIN}:65535`), created({ hostports: [`${DOMAIN}:1`, `${DOMAIN}:65535`] })]],
    },
    {
      rule: `${capital(one)} cannot list a hostport twice, however it is written`,
      given,
      ask: listen(`${DOMAIN}:443`, '{unique}.EXAMPLE.com:443'),
      answer: invalid({ '/hostports/1': /already/ }),
    },
    {
      rule: `${capital(one)} has at most 100 hostports`,
      given,
      ask: listen(...ports(100)),
      answer: created({ hostports: ports(100) }),
      later: [[listen(...ports(101)), invalid({ '/hostports': /at most 100/ })]],
    },
    ...[path, otherPath].map(
      (other): Row => ({
        rule: `${capital(one)} and an edge at ${other} cannot share a hostport; the error names the first, which frees it by an update or its deletion`,
        given: { ...given, made: listen(`${DOMAIN}:443`) },
        ask: post(other, { hostports: [`${DOMAIN}:8443`, `${DOMAIN}:443`] }),
        answer: refused('CONFLICT', { '/hostports/1': 'is already used by {made.id}' }),
        later: [
          [patch(address, { hostports: [`${DOMAIN}:8443`] }), ok({ hostports: [`${DOMAIN}:8443`] })],
          [post(other, { hostports: [`${DOMAIN}:443`] }), created({ hostports: [`${DOMAIN}:443`] })],
          [post(other, { hostports: [`${DOMAIN}:8443`] }), refused('CONFLICT')],
          [del(address), noContent],
          [post(other, { hostports: [`${DOMAIN}:8443`] }), created({ hostports: [`${DOMAIN}:8443`] })],
        ],
      }),
    ),
    {
      rule: `The domain that ${one} listens on cannot be deleted; the error names the edge`,
      given: { ...given, made: listen(`${DOMAIN}:443`) },
      ask: del(`${domains}/{domain.id}`),
      answer: refused('RESOURCE_IN_USE', { [name]: '{made.id}' }),
      later: [
        [patch(address, { hostports: [] }), ok({ hostports: [] })],
        [del(`${domains}/{domain.id}`), noContent],
      ],
    },
  ];
}

const ports = (count: number) => Array.from({ length: count }, (_, index) => `${DOMAIN}:${1000 + index}`);
