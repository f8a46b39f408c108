/** The rows about which resources a list has: they follow from the filters of its family. */
import { z } from 'zod';
import { type Filter, filtersOf } from '../../src/resources/definition/filter.ts';
import { withoutNone } from '../../src/resources/definition/none.ts';
import type { Body } from '../../src/resources/definition/samples.ts';
import { get, invalid, ok, post, type Row } from './row.ts';
import { other, type Subject } from './subject.ts';

const LONG_AGO = '2020-01-01T00:00:00Z';
const FAR_AHEAD = '2999-01-01T00:00:00Z';

export function filterConventions(subject: Subject): Row[] {
  return [
    creationTimes(subject),
    unknownFilter(subject),
    ...filtersOf(subject.family).map((one) => byFilter(subject, one)),
  ];
}

function creationTimes({ family, many, path, least, given, made }: Subject): Row {
  const has = (...names: string[]) => ({ [family.collection]: names.map((name) => ({ id: `{${name}.id}` })) });
  const [after, before] = [LONG_AGO, FAR_AHEAD].map((time) => encodeURIComponent(time.replace('Z', '.000Z')));
  const next = `created_after=${after}&created_before=${before}&before_id={made.id}&limit=1`;
  return {
    rule: `A list of ${many} can be limited by the time of creation, and the next page has the same limits`,
    given: { ...given, earlier: post(path, other(least)), ...made },
    ask: get(`${path}?created_after=${LONG_AGO}&created_before=${FAR_AHEAD}&limit=1`),
    answer: ok({ ...has('made'), next_page_uri: `{base}${path}?${next}` }),
    later: [
      [get(`${path}?${next}`), ok(has('earlier'))],
      [get(`${path}?created_after={made.created_at}`), ok(has())],
      [get(`${path}?created_before=${LONG_AGO}`), ok(has())],
      [get(`${path}?created_after=today`), invalid({ '?created_after': /RFC 3339/ })],
    ],
  };
}

const unknownFilter = ({ family, many, path, given }: Subject): Row => ({
  rule: `An unknown filter of ${many} is refused, and the error names those that exist`,
  given,
  ask: get(`${path}?filter[nonsense]=1`),
  answer: invalid({
    '?filter[nonsense]': new RegExp(
      `known are .*created_before${filtersOf(family)
        .map(({ name }) => `.*, filter\\[${name}\\]`)
        .join('')}`,
    ),
  }),
});

function byFilter(subject: Subject, filter: Filter): Row {
  return filter.by === 'prefix' ? byPrefix(subject, filter) : byValue(subject, filter);
}

/** The resource with the value is not the newest one. */
function byValue({ family, many, path, least, given }: Subject, { name, field, by }: Filter): Row {
  const [one, another] = valuesOf(family.fields[field]?.input, field, least);
  const value = by === 'element' ? `{wanted.${field}.0}` : `{wanted.${field}}`;
  const parameter = `filter[${name}]`;
  return {
    rule: `A list of ${many} can be limited to one "${name}"`,
    given: { ...given, wanted: post(path, { ...least, ...one }), newest: post(path, { ...other(least), ...another }) },
    ask: get(`${path}?${parameter}=${value}&limit=1`),
    answer: ok({ [family.collection]: [{ id: '{wanted.id}' }] }),
    later: [[get(`${path}?${parameter}=`), invalid({ [`?${parameter}`]: /./ })]],
  };
}

/** Two values of a field. */
function valuesOf(input: z.ZodType | undefined, field: string, least: Body): [Body, Body] {
  const schema = input && withoutNone(input);
  if (schema instanceof z.ZodEnum) return [{ [field]: schema.options[0] }, { [field]: schema.options.at(-1) }];
  if (schema instanceof z.ZodArray) return [{ [field]: ['{unique}.example.com', 'a.example.com'] }, {}];
  return field in least ? [{}, {}] : [{ [field]: '{user.id}' }, { [field]: '{bot.id}' }];
}

/** The resource whose text sorts last comes first, although it is the older one. */
function byPrefix({ family, many, path, least, given }: Subject, { name, field }: Filter): Row {
  const parameter = `filter[${name}]`;
  const has = (id: string) => ({ [family.collection]: [{ id: `{${id}.id}` }] });
  const make = (body: Body, text: string) => post(path, { ...body, [field]: text });
  const next = `${encodeURIComponent(parameter)}={unique}-&before_${field}={unique}-b&before_id={second.id}&limit=1`;
  return {
    rule: `A list of ${many} can be limited to a beginning of "${field}", in order of that text, last first`,
    given: { ...given, second: make(least, '{unique}-b'), first: make(other(least), '{unique}-a') },
    ask: get(`${path}?${parameter}={unique}-&limit=1`),
    answer: ok({ ...has('second'), next_page_uri: `{base}${path}?${next}` }),
    later: [
      [get(`${path}?${next}`), ok({ ...has('first'), next_page_uri: null })],
      [get(`${path}?${parameter}={unique}-c`), ok({ [family.collection]: [] })],
    ],
  };
}
