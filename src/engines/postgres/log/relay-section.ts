// The section of a row that has messages between clients, for the subscribers of other servers. Written only where there are
// others. Pure.
import type { ClientMessage } from '../../../domain/ports/commit-log.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { SectionReader, SectionWriter } from './section-bytes.ts';

const flags = { retain: 1, gateway: 2, properties: 4, expires: 8, publisher: 16 } as const;
const all = Object.values(flags).reduce((sum: number, flag) => sum + flag, 0);

export function encodeRelays(messages: readonly ClientMessage[]): Buffer {
  const out = new SectionWriter();
  for (const { topic, payload, qos, retain, user, gateway, properties, expiresMs, publisherId } of messages) {
    out.number(
      (retain ? flags.retain : 0) +
        (gateway === undefined ? 0 : flags.gateway) +
        (properties === undefined ? 0 : flags.properties) +
        (expiresMs === undefined ? 0 : flags.expires) +
        (publisherId === undefined ? 0 : flags.publisher),
    );
    out.number(qos);
    out.number(user);
    out.bytes(Buffer.from(topic));
    if (gateway !== undefined) out.number(gateway);
    if (properties !== undefined) out.bytes(properties);
    if (expiresMs !== undefined) out.float(expiresMs);
    if (publisherId !== undefined) out.bytes(Buffer.from(publisherId));
    out.bytes(payload);
  }
  return out.end();
}

/** @throws CorruptChunk, UnknownVersion */
export function decodeRelays(section: Buffer): ClientMessage[] {
  const from = new SectionReader(section);
  const messages: ClientMessage[] = [];
  while (!from.isAtEnd) {
    const set = from.number();
    if (set > all) throw new UnknownVersion('It has a message in an unknown form.');
    const has = (flag: number) => (set & flag) !== 0;
    const qos = from.number();
    if (qos !== 0 && qos !== 1 && qos !== 2) throw new CorruptChunk(`It has a message of QoS ${qos}.`);
    const user = from.number();
    const topic = from.bytes().toString();
    const said = {
      ...(has(flags.gateway) && { gateway: from.number() }),
      ...(has(flags.properties) && { properties: from.bytes() }),
      ...(has(flags.expires) && { expiresMs: from.float() }),
      ...(has(flags.publisher) && { publisherId: from.bytes().toString() }),
    };
    messages.push({ topic, payload: from.bytes(), qos, retain: has(flags.retain), user, ...said });
  }
  return messages;
}
