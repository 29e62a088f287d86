// The datapoints of the log in memory, so that reads need not search the log. They lie in order of arrival; each refers
// back to its sensor's previous one. Bounded by `headRowsMax`, beyond which the writer thread holds commits back until
// sealing has taken some out.

import { limits } from '../../../config/limits.ts';
import { makeColumns } from '../../../domain/datapoints/columns.ts';
import type { ArrivedDatapoint, StoredValue } from '../../../domain/datapoints/datapoint.ts';
import { type DatapointBatch, rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import { noSensor } from '../log/no-sensor.ts';
import { type HeadPart, isWithin, type NeededPart, spanOf, type TimeSpan, timeEnd } from './head-part.ts';
import { NumberTable } from './number-table.ts';
import { Segment, segmentRows, timeOf } from './segment.ts';
import { SelectedSeqs } from './selected-seqs.ts';

export class Head {
  readonly #segments: Segment[] = [];
  /** Segments whose datapoints have all been sealed, to be used again. */
  readonly #spare: Segment[] = [];
  /** Seq of the first datapoint of the first segment. */
  #origin = 1;
  /** Datapoints up to this seq have been sealed and are no longer here. */
  #sealedSeq = 0;
  #nextSeq = 1;
  readonly #lastOf = new NumberTable();
  /** By sensor: the latest time among its datapoints since the head last had none of it. */
  readonly #latest = new NumberTable();
  /**
   * By sensor: the earliest time among datapoints after `#turnSeq`, and among those before it, minus `timeEnd` (so that
   * 0 means none). Used to skip sensors without datapoints in a range.
   */
  #earliest = new NumberTable();
  #earliestBefore = new NumberTable();
  #turnSeq = 0;
  /** By seq, in ascending order: values that are not numbers, as JSON. */
  readonly #texts = new Map<number, string>();
  /** The same for datapoints that were corrected, in the order of the corrections. */
  readonly #correctedTexts = new Map<number, string>();
  #textChars = 0;
  readonly #selected = new SelectedSeqs();
  #sorted:
    | { readonly sensor: SensorKey; readonly lastSeq: number; readonly span: TimeSpan; readonly part: HeadPart }
    | undefined;

  /** Number of datapoints held. */
  get rows(): number {
    return this.#nextSeq - 1 - this.#sealedSeq;
  }

  /** Characters of the texts held. */
  get textChars(): number {
    return this.#textChars;
  }

  /** Seq of the last datapoint that was added. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  /** When the last datapoint that is held was received, in milliseconds since 1970 UTC. */
  get lastReceivedMs(): number | undefined {
    return this.rows === 0 ? undefined : this.#receivedAt(this.lastSeq);
  }

  /** Calls `visit` for each sensor with a datapoint after `seq`, with the time its last one was received. */
  eachBehind(seq: number, visit: (sensor: SensorKey, receivedMs: number) => void): void {
    const behind = Math.max(seq, this.#sealedSeq);
    this.#lastOf.each((sensor, last) => {
      if (last > behind) visit(sensor as SensorKey, this.#receivedAt(last));
    });
  }

  /** Empties the head; the next datapoint has the seq after this one. */
  startBehind(seq: number): void {
    this.#sealedSeq = seq;
    this.#nextSeq = seq + 1;
    this.#origin = seq + 1;
    this.#segments.length = 0;
    this.#spare.length = 0;
  }

  add({ rows, texts }: Pick<DatapointBatch, 'rows' | 'texts'>, firstSeq: number): void {
    let text = 0;
    let seq = firstSeq;
    for (let from = 0; from < rows.length; ) {
      const offset = (seq - this.#origin) % segmentRows;
      const segment = this.#segmentOf(seq);
      const count = Math.min(rows.length / rowNumbers - from / rowNumbers, segmentRows - offset);
      const some = rows.subarray(from, from + count * rowNumbers);
      segment.rows.set(some, offset * rowNumbers);
      text = this.#link(some, { segment, offset, seq, texts, text });
      from += count * rowNumbers;
      seq += count;
    }
    this.#nextSeq = seq;
  }

  #link(
    rows: Float64Array,
    at: {
      readonly segment: Segment;
      readonly offset: number;
      readonly seq: number;
      readonly texts: readonly string[];
      readonly text: number;
    },
  ): number {
    const { back } = at.segment;
    let { text, seq, offset } = at;
    for (let from = 0; from < rows.length; from += rowNumbers) {
      const sensor = rows[from] as number;
      if (sensor === noSensor) {
        // The entry of a datapoint that was removed: nothing refers to it.
        back[offset++] = 0;
        seq += 1;
        continue;
      }
      const before = this.#lastOf.replace(sensor, seq);
      const isInOrder = this.#noteTime(sensor, timeOf(rows, from), before <= this.#sealedSeq);
      back[offset] = (before > this.#sealedSeq ? seq - before : 0) * 2 + isInOrder;
      if (Number.isNaN(rows[from + 3] as number)) {
        const one = at.texts[text++] as string;
        this.#texts.set(seq, one);
        this.#textChars += one.length;
      }
      seq += 1;
      offset += 1;
    }
    return text;
  }

  /**
   * Updates the sensor's earliest and latest time; 1 where no earlier datapoint has a later time, else 0 (bit 0 of
   * `back`).
   */
  #noteTime(sensor: number, ms: number, isFirst: boolean): 0 | 1 {
    const least = this.#earliest.get(sensor);
    if (least === 0 || ms - timeEnd < least) this.#earliest.replace(sensor, ms - timeEnd);
    if (!isFirst && ms < this.#latest.get(sensor)) return 0;
    this.#latest.replace(sensor, ms);
    return 1;
  }

  /** True where all datapoints of the sensor in the head are later than this time. */
  #isAllBehind(sensor: number, ms: number): boolean {
    const least = Math.min(this.#earliest.get(sensor), this.#earliestBefore.get(sensor));
    return least !== 0 && ms - timeEnd < least;
  }

  /** Removes datapoints up to this seq, because they have been sealed. */
  sealed(seq: number): void {
    if (seq <= this.#sealedSeq) return;
    this.#sealedSeq = Math.min(seq, this.#nextSeq - 1);
    if (this.#sealedSeq >= this.#turnSeq) {
      this.#earliestBefore = this.#earliest;
      this.#earliest = new NumberTable();
      this.#turnSeq = this.#nextSeq - 1;
    }
    const gone = Math.min(Math.floor((this.#sealedSeq + 1 - this.#origin) / segmentRows), this.#segments.length);
    this.#spare.push(...this.#segments.splice(0, gone));
    // Keeps as many spare segments as are in use, because they will be needed again; none where the head is nearly
    // empty.
    const kept = this.rows < segmentRows ? 0 : this.#segments.length;
    for (const segment of this.#spare.splice(kept)) segment.free();
    this.#origin += gone * segmentRows;
    for (const [one] of this.#texts) {
      if (one > this.#sealedSeq) break;
      this.#forgetText(one);
    }
    for (const [one] of this.#correctedTexts) if (one <= this.#sealedSeq) this.#forgetText(one);
    this.#sorted = undefined;
  }

  /** The seqs of the datapoints that fit, latest first; those that were sealed are left out. */
  *select({ sensor, fromMs, toMs, value }: SeriesRemoval): Generator<number> {
    for (let [seq, back] = [this.#lastOf.get(sensor), 1]; back > 0 && seq > this.#sealedSeq; seq -= back) {
      const entry = this.#backAt(seq);
      back = entry >>> 1;
      const ms = this.#timeAt(seq);
      // Bit 0: no earlier datapoint is later than this one.
      if ((entry & 1) === 1 && ms < fromMs) return;
      if (ms >= fromMs && ms <= toMs && (value === undefined || this.#valueAt(seq) === value)) yield seq;
    }
  }

  /** When a datapoint was received, in milliseconds since 1970 UTC. */
  receivedMsOf(seq: number): number {
    return this.#receivedAt(seq);
  }

  /** Removes the datapoints that fit, up to a seq: they are no longer in the log. */
  remove(removal: SeriesRemoval, upToSeq: number): void {
    const { sensor } = removal;
    const gone = new Set<number>();
    for (const seq of this.select(removal)) if (seq <= upToSeq) gone.add(seq);
    let later = 0;
    for (let [seq, back, left] = [this.#lastOf.get(sensor), 1, gone.size]; left > 0 && back > 0; seq -= back) {
      back = this.#backAt(seq) >>> 1;
      if (!gone.has(seq)) {
        later = seq;
        continue;
      }
      left -= 1;
      // The datapoint after it refers to the one before it from now on.
      const before = back > 0 ? seq - back : 0;
      if (later === 0) this.#lastOf.replace(sensor, before);
      else this.#setBack(later, before > 0 ? later - before : 0);
      this.#forgetText(seq);
    }
    this.#sorted = undefined;
  }

  /** Sets the value of a datapoint, because it was corrected in the log; nothing where it was sealed. */
  correct(seq: number, value: StoredValue): void {
    if (seq <= this.#sealedSeq) return;
    const { rows, at } = this.#rowAt(seq);
    this.#forgetText(seq);
    rows[at + 3] = typeof value === 'number' ? value : Number.NaN;
    if (typeof value === 'string') {
      this.#correctedTexts.set(seq, value);
      this.#textChars += value.length;
    }
    this.#sorted = undefined;
  }

  latest(sensor: SensorKey): ArrivedDatapoint | undefined {
    const seq = this.#lastOf.get(sensor);
    return seq > this.#sealedSeq ? this.#pointAt(seq) : undefined;
  }

  /** A time after which the head has no datapoint of the sensor; undefined where it has none of it. */
  latestTimeOf(sensor: SensorKey): number | undefined {
    return this.#lastOf.get(sensor) > this.#sealedSeq ? this.#latest.get(sensor) : undefined;
  }

  /** The datapoint with the highest seq not above this one. */
  latestUpTo(sensor: SensorKey, seq: number): ArrivedDatapoint | undefined {
    for (let [one, back] = [this.#lastOf.get(sensor), 1]; back > 0 && one > this.#sealedSeq; one -= back) {
      if (one <= seq) return this.#pointAt(one);
      back = this.#backAt(one) >>> 1;
    }
    return undefined;
  }

  /**
   * Datapoints of a sensor that a read may need, in order of time, equal times in order of arrival. May contain more
   * than needed.
   */
  partFor(needed: NeededPart): HeadPart {
    const { sensor } = needed;
    const lastSeq = this.#lastOf.get(sensor);
    if (lastSeq <= this.#sealedSeq || this.#isAllBehind(sensor, needed.toMs ?? Number.POSITIVE_INFINITY))
      return emptyPart;
    const known = this.#sorted;
    const span = spanOf(needed);
    if (known !== undefined && known.sensor === sensor && known.lastSeq === lastSeq && isWithin(span, known.span))
      return known.part;
    const isWhole = this.#take(lastSeq, needed, span);
    const part = this.#columnsOf(this.#selected.seqs);
    this.#selected.clear();
    // Remembered, because the steps of one long read ask for the same part.
    if (isWhole && part.count > rememberedMin) this.#sorted = { sensor, lastSeq, span, part };
    return part;
  }

  /** True where this part may be returned again: then its buffers must not be transferred to another thread. */
  isKept(part: HeadPart): boolean {
    return part === emptyPart || part === this.#sorted?.part;
  }

  /**
   * Collects the seqs that a step needs, from the sensor's last datapoint backwards until no earlier one can be needed.
   * Descending, datapoints of one time are all taken or none.
   * @returns true where these are all datapoints within the span.
   */
  #take(lastSeq: number, { after, descending, limit }: NeededPart, { firstMs, lastMs }: TimeSpan): boolean {
    const selected = this.#selected;
    selected.clear();
    // `wanted` is one more than `limit`, which tells whether there is a next step. `same` counts datapoints at the time
    // of the start position: the step has to pass over them.
    let [wanted, same] = [descending ? limit + 1 : Number.POSITIVE_INFINITY, 0];
    let isWhole = true;
    for (let seq = lastSeq, back = 1; back > 0 && seq > this.#sealedSeq; seq -= back) {
      const entry = this.#backAt(seq);
      const ms = this.#timeAt(seq);
      back = entry >>> 1;
      // Bit 0: no earlier datapoint is later than this one, so the loop may stop here.
      if ((entry & 1) === 1) {
        if (ms < firstMs) break;
        if (this.#isEnough({ ms, wanted, passed: same, limit })) {
          isWhole = false;
          break;
        }
        if (selected.count - same >= wanted) wanted = 2 * selected.count;
      }
      if (ms < firstMs || ms > lastMs) continue;
      selected.add(seq, ms);
      if (descending && ms === after?.order) same += 1;
    }
    selected.sort();
    return isWhole;
  }

  /** True where more than `limit` collected datapoints are later than `ms`, so that no earlier one is needed. */
  #isEnough(at: { readonly ms: number; readonly wanted: number; readonly passed: number; readonly limit: number }) {
    return this.#selected.count - at.passed >= at.wanted && this.#selected.countBehind(at.ms) - at.passed > at.limit;
  }

  #columnsOf(ordered: Float64Array): HeadPart {
    const columns = makeColumns(ordered.length);
    const seqs = ordered.slice();
    const texts = new Map<number, string>();
    for (let index = 0; index < ordered.length; index++) {
      const seq = ordered[index] as number;
      const { rows } = this.#segmentAt(seq);
      const at = this.#offsetOf(seq);
      columns.at[index] = timeOf(rows, at);
      columns.stamped[index] = Number.isNaN(rows[at + 1] as number) ? 0 : 1;
      columns.received[index] = rows[at + 2] as number;
      const number = rows[at + 3] as number;
      columns.values[index] = number;
      if (Number.isNaN(number)) texts.set(index, this.#textAt(seq));
    }
    return { ...columns, seqs, texts: texts.size === 0 ? undefined : texts };
  }

  #backAt(seq: number): number {
    return this.#segmentAt(seq).back[(seq - this.#origin) % segmentRows] as number;
  }

  /** Sets the distance to the sensor's previous datapoint (0: none); bit 0 stays. */
  #setBack(seq: number, distance: number): void {
    const { back } = this.#segmentAt(seq);
    const offset = (seq - this.#origin) % segmentRows;
    back[offset] = distance * 2 + ((back[offset] as number) & 1);
  }

  #pointAt(seq: number): ArrivedDatapoint {
    const { rows, at } = this.#rowAt(seq);
    const timestampMs = rows[at + 1] as number;
    return {
      seq,
      timestampMs: Number.isNaN(timestampMs) ? undefined : timestampMs,
      receivedMs: rows[at + 2] as number,
      value: this.#valueAt(seq),
    };
  }

  #valueAt(seq: number): StoredValue {
    const { rows, at } = this.#rowAt(seq);
    const number = rows[at + 3] as number;
    return Number.isNaN(number) ? this.#textAt(seq) : number;
  }

  #textAt(seq: number): string {
    return (this.#correctedTexts.get(seq) ?? this.#texts.get(seq)) as string;
  }

  #forgetText(seq: number): void {
    for (const texts of [this.#texts, this.#correctedTexts]) {
      this.#textChars -= texts.get(seq)?.length ?? 0;
      texts.delete(seq);
    }
  }

  #receivedAt(seq: number): number {
    const { rows, at } = this.#rowAt(seq);
    return rows[at + 2] as number;
  }

  #timeAt(seq: number): number {
    return timeOf(this.#segmentAt(seq).rows, this.#offsetOf(seq));
  }

  #rowAt(seq: number): { readonly rows: Float64Array; readonly at: number } {
    return { rows: this.#segmentAt(seq).rows, at: this.#offsetOf(seq) };
  }

  /** Index of a datapoint's first number within its segment. */
  #offsetOf(seq: number): number {
    return ((seq - this.#origin) % segmentRows) * rowNumbers;
  }

  #segmentAt(seq: number): Segment {
    return this.#segments[Math.floor((seq - this.#origin) / segmentRows)] as Segment;
  }

  /** The segment for a seq that is about to be written; makes it where needed. */
  #segmentOf(seq: number): Segment {
    const number = Math.floor((seq - this.#origin) / segmentRows);
    while (this.#segments.length <= number) this.#segments.push(this.#spare.pop() ?? new Segment());
    return this.#segments[number] as Segment;
  }
}

/** Parts with fewer datapoints are not cached, but built for each read. */
const rememberedMin = limits.readStepRows;

const emptyPart: HeadPart = { ...makeColumns(0), seqs: new Float64Array(0), texts: undefined };
