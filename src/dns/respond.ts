/** From the bytes of a query to those of its response. */
import {
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
} from 'dns-packet';
import type { Found } from './zone.ts';

/** Bytes of a UDP message without EDNS (RFC 1035), and the most with it: what no path fragments (DNS flag day 2020). */
const PLAIN_UDP_BYTES = 512;
const MOST_UDP_BYTES = 1232;
const MOST_TCP_BYTES = 65_535;

const CODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const;

const HEADER_BYTES = 12;
const RESPONSE_BIT = 0x80;

/** Answers a question of class IN or ANY. */
export type Answer = (question: Question) => Promise<Found>;

export interface RespondOptions {
  answer: Answer;
  transport: 'udp' | 'tcp';
  onError: (error: unknown) => void;
}

/** A response without records, so that the resolver asks again over TCP, where its address is certain. */
export function truncated(query: Buffer): Buffer | undefined {
  try {
    const { id = 0, opcode, questions = [] }: Packet & { opcode?: string } = decode(query);
    if (opcode !== 'QUERY' || (query[2] ?? 0) & RESPONSE_BIT) return undefined;
    return encode({ type: 'response', id, flags: TRUNCATED_RESPONSE, questions });
  } catch {
    return undefined;
  }
}

/** Returns undefined for what is not a query, or not even a header: nobody waits for a response. */
export async function respond(query: Buffer, options: RespondOptions): Promise<Buffer | undefined> {
  if (query.length < HEADER_BYTES || (query[2] ?? 0) & RESPONSE_BIT) return undefined;
  try {
    const asked = decode(query);
    return fitting(asked, await responseTo(asked, options), options.transport);
  } catch {
    return encode({ type: 'response', id: query.readUInt16BE(0), flags: CODES.FORMERR });
  }
}

interface Response extends Pick<Found, 'answers' | 'authorities'> {
  code: number;
  flags: number;
}

async function responseTo(asked: Packet & { opcode?: string }, { answer, onError }: RespondOptions): Promise<Response> {
  const only = (code: keyof typeof CODES) => ({ code: CODES[code], flags: 0, answers: [], authorities: [] });
  if (asked.opcode !== 'QUERY') return only('NOTIMP');
  const version = ednsOf(asked)?.ednsVersion ?? 0;
  if (version > 0) return only('BADVERS');
  const [question, ...others] = asked.questions ?? [];
  if (!question || others.length > 0) return only('FORMERR');
  if (question.class !== 'IN' && question.class !== 'ANY') return only('REFUSED');
  try {
    const { code, authoritative, answers, authorities } = await answer(question);
    return { code: CODES[code], flags: authoritative ? AUTHORITATIVE_ANSWER : 0, answers, authorities };
  } catch (error) {
    onError(error);
    return only('SERVFAIL');
  }
}

/** The response with the header, question and EDNS that the query asks for; without records if these do not fit. */
function fitting(asked: Packet, { code, flags, ...records }: Response, transport: 'udp' | 'tcp'): Buffer {
  const edns = ednsOf(asked);
  const udpBytes = Math.min(Math.max(edns?.udpPayloadSize ?? 0, PLAIN_UDP_BYTES), MOST_UDP_BYTES);
  const most = transport === 'udp' ? udpBytes : MOST_TCP_BYTES;
  const options = { name: '.', type: 'OPT', ednsVersion: 0, flags: 0, flag_do: false, options: [] } as const;
  const packet: Packet = {
    type: 'response',
    ...(asked.id !== undefined && { id: asked.id }),
    flags: flags | ((asked.flags ?? 0) & (OPCODE | RECURSION_DESIRED)) | (code & 0xf),
    questions: asked.questions ?? [],
    additionals: edns ? [{ ...options, options: [], udpPayloadSize: MOST_UDP_BYTES, extendedRcode: code >> 4 }] : [],
  };
  const whole = encode({ ...packet, ...records });
  if (whole.length <= most) return whole;
  return encode({ ...packet, flags: (packet.flags ?? 0) | TRUNCATED_RESPONSE });
}

const OPCODE = 0b1111 << 11;

const ednsOf = ({ additionals = [] }: Packet) => additionals.find((record) => record.type === 'OPT');
