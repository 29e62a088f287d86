// The section of a row that says how its datapoints were pushed, for delivery by other servers: which belong together, and of those
// that came over MQTT the message as it was published. Written only where there are others. Pure.
import { type DatapointBatch, rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { OriginalMessage } from '../../../domain/datapoints/feed.ts';
import type { Reading } from '../../../domain/datapoints/ingest/reading.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { FollowedPush, PushedAs } from '../../../domain/ports/commit-log.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { type LogRowContent, skipsRules } from './log-row.ts';
import { SectionReader, SectionWriter } from './section-bytes.ts';

const flags = { many: 1, original: 2, retain: 4, user: 8, properties: 16, expires: 32, publisher: 64 } as const;
const all = Object.values(flags).reduce((sum: number, flag) => sum + flag, 0);

export function encodePushes(pushes: readonly PushedAs[]): Buffer {
  const out = new SectionWriter();
  for (const { sensor, count, receivedMs, many, original } of pushes) {
    out.number(count);
    out.number((many ? flags.many : 0) + (original === undefined ? 0 : flagsOf(original)));
    // Without datapoints nothing else says whose message it is, and when it came.
    if (count === 0) {
      out.number(sensor);
      out.float(receivedMs);
    }
    if (original === undefined) continue;
    const { qos, user, properties, expiresMs, publisherId, payload } = original;
    out.number(qos);
    if (user !== undefined) out.number(user);
    if (properties !== undefined) out.bytes(properties);
    if (expiresMs !== undefined) out.float(expiresMs);
    if (publisherId !== undefined) out.bytes(Buffer.from(publisherId));
    out.bytes(payload);
  }
  return out.end();
}

function flagsOf({ retain, user, properties, expiresMs, publisherId }: OriginalMessage): number {
  return (
    flags.original +
    (retain ? flags.retain : 0) +
    (user === undefined ? 0 : flags.user) +
    (properties === undefined ? 0 : flags.properties) +
    (expiresMs === undefined ? 0 : flags.expires) +
    (publisherId === undefined ? 0 : flags.publisher)
  );
}

interface SaidPush {
  readonly count: number;
  readonly many: boolean;
  readonly original?: OriginalMessage | undefined;
  /** Both said where it has no datapoints. */
  readonly sensor?: SensorKey | undefined;
  readonly receivedMs?: number | undefined;
}

function decodePushes(section: Buffer): SaidPush[] {
  const from = new SectionReader(section);
  const pushes: SaidPush[] = [];
  while (!from.isAtEnd) {
    const count = from.number();
    const set = from.number();
    if (set > all) throw new UnknownVersion('It has a message in an unknown form.');
    const of = count === 0 ? { sensor: from.number() as SensorKey, receivedMs: from.float() } : {};
    const original = (set & flags.original) === 0 ? {} : { original: originalOf(from, set) };
    pushes.push({ count, many: (set & flags.many) !== 0, ...of, ...original });
  }
  return pushes;
}

function originalOf(from: SectionReader, set: number): OriginalMessage {
  const has = (flag: number) => (set & flag) !== 0;
  const qos = from.number();
  if (qos !== 0 && qos !== 1 && qos !== 2) throw new CorruptChunk(`It has a message of QoS ${qos}.`);
  const said = {
    ...(has(flags.user) && { user: from.number() }),
    ...(has(flags.properties) && { properties: from.bytes() }),
    ...(has(flags.expires) && { expiresMs: from.float() }),
    ...(has(flags.publisher) && { publisherId: from.bytes().toString() }),
  };
  const payload = from.bytes();
  return { payload, bytes: payload.length + (said.properties?.length ?? 0), qos, retain: has(flags.retain), ...said };
}

/**
 * The pushes of a row. Where it does not say them, datapoints of one sensor that came at one time are taken for one push.
 * @throws CorruptChunk, UnknownVersion
 */
export function followedPushes(
  content: Pick<LogRowContent, 'rows' | 'texts' | 'rulesSkipped' | 'pushes'>,
  firstSeq: number,
): FollowedPush[] {
  const { rows, rulesSkipped } = content;
  const total = rows.length / rowNumbers;
  const said = content.pushes === undefined ? asPushed({ rows }) : decodePushes(content.pushes);
  const pushes: FollowedPush[] = [];
  let [index, text] = [0, 0];
  for (const { count, many, original, ...of } of said) {
    if (index + count > total) throw new CorruptChunk('It says more pushes than it has datapoints.');
    const at = index * rowNumbers;
    const readings: Reading[] = [];
    for (let n = at; n < at + count * rowNumbers; n += rowNumbers) {
      const number = rows[n + 3] as number;
      const value = Number.isNaN(number) ? (content.texts[text++] as string) : number;
      readings.push({ value, timestampMs: rows[n + 1] as number });
    }
    pushes.push({
      sensor: of.sensor ?? (rows[at] as SensorKey),
      readings,
      receivedMs: of.receivedMs ?? (rows[at + 2] as number),
      firstSeq: firstSeq + index,
      original,
      many,
      skipsRules: count > 0 && skipsRules(rulesSkipped, index),
    });
    index += count;
  }
  if (index !== total) throw new CorruptChunk('It has more datapoints than pushes.');
  return pushes;
}

/** Datapoints of one sensor that came at one time as one push. */
export function asPushed({ rows }: Pick<DatapointBatch, 'rows'>): PushedAs[] {
  const pushes: (PushedAs & { count: number })[] = [];
  for (let at = 0; at < rows.length; at += rowNumbers) {
    const [sensor, , receivedMs] = rows.subarray(at, at + rowNumbers) as unknown as [SensorKey, number, number];
    const last = pushes.at(-1);
    if (last?.sensor === sensor && last.receivedMs === receivedMs) last.count += 1;
    else pushes.push({ sensor, receivedMs, count: 1, many: false, original: undefined });
  }
  return pushes;
}
