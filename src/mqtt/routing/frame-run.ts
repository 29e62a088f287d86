// Packets that were handed out one after the other. Subscribers that get the same ones share a run, so that its bytes are
// put together once for all of them, or copied once for each where they hold packet ids. Used by joined-writes.ts.
import { limits } from '../../config/limits.ts';
import { type PublishForm, packetBytesOf } from '../protocol/publish-forms.ts';

/** What runs are written to: the connection of a subscriber. */
export interface FrameSink {
  write(bytes: Uint8Array): boolean;
  cork(): void;
  uncork(): void;
}

export class FrameRun {
  readonly #before: FrameRun | undefined;
  readonly #frame: PublishForm | undefined;
  /** How many bytes it has. */
  readonly bytes: number;
  /** How many frames it has. */
  readonly count: number;
  /** How many of its frames need a packet id. */
  readonly ids: number;
  /** The run with one more frame that was asked for last. */
  #next: FrameRun | undefined;
  #joined: Joined | undefined;

  /** An empty run, or one with a frame behind those of another. */
  constructor(before?: FrameRun, frame?: PublishForm) {
    this.#before = before;
    this.#frame = frame;
    this.bytes = (before?.bytes ?? 0) + (frame === undefined ? 0 : packetBytesOf(frame));
    this.count = (before?.count ?? 0) + (frame === undefined ? 0 : 1);
    this.ids = (before?.ids ?? 0) + (frame === undefined || frame.idAt < 0 ? 0 : 1);
  }

  /** This run with one more frame behind it: the same one for all who ask in turn. */
  with(frame: PublishForm): FrameRun {
    const known = this.#next;
    if (known !== undefined && known.#frame === frame) return known;
    const next = new FrameRun(this, frame);
    this.#next = next;
    return next;
  }

  /** Writes all frames. @param nextId gives a packet id. @returns false when the sink is full. */
  writeTo(sink: FrameSink, nextId: () => number): boolean {
    if (this.bytes > limits.joinedWriteBytesMax) return this.#writeEach(sink, nextId);
    this.#joined ??= join(this.#frames());
    const { bytes, idsAt } = this.#joined;
    return sink.write(idsAt.length === 0 ? bytes : withIds(bytes, idsAt, nextId));
  }

  /** Large frames are not copied: their bytes are shared, but for those that hold the packet id. */
  #writeEach(sink: FrameSink, nextId: () => number): boolean {
    let isFree = true;
    sink.cork();
    for (const { bytes, idAt, tail } of this.#frames()) {
      if (idAt >= 0) sink.write(withIds(bytes.subarray(0, idAt + 2), [idAt], nextId));
      isFree = sink.write(idAt < 0 ? bytes : bytes.subarray(idAt + 2));
      if (tail !== undefined) isFree = sink.write(tail);
    }
    sink.uncork();
    return isFree;
  }

  #frames(): PublishForm[] {
    const frames: PublishForm[] = [];
    for (let run: FrameRun | undefined = this; run !== undefined; run = run.#before)
      if (run.#frame !== undefined) frames.push(run.#frame);
    return frames.reverse();
  }
}

interface Joined {
  readonly bytes: Buffer;
  /** Where the packet ids are. */
  readonly idsAt: readonly number[];
}

function join(frames: readonly PublishForm[]): Joined {
  const idsAt: number[] = [];
  let at = 0;
  for (const { bytes, idAt } of frames) {
    if (idAt >= 0) idsAt.push(at + idAt);
    at += bytes.length;
  }
  const [first] = frames;
  return {
    bytes: frames.length === 1 ? (first as PublishForm).bytes : Buffer.concat(frames.map(({ bytes }) => bytes)),
    idsAt,
  };
}

function withIds(bytes: Buffer, idsAt: readonly number[], nextId: () => number): Buffer {
  const copy = Buffer.from(bytes);
  for (const at of idsAt) copy.writeUInt16BE(nextId(), at);
  return copy;
}
