// Moves data from one engine to another in two parts: what is large while the service runs, and all that has changed since, and
// is small, once it is stopped. Each part can be cut off and made again.
import { Refusal } from '../../../base/refusal.ts';
import type { OnProgress } from '../../../domain/ports/maintenance.ts';
import { type ChunkMark, type MoveSource, type MoveTarget, movedTables, type SensorDigest } from './moved-data.ts';

/** Copies the chunks that the target has not; those that change meanwhile are seen to by `finishMove`. */
export async function copyChunks(source: MoveSource, target: MoveTarget, onStep: OnProgress): Promise<number> {
  const all = await source.countChunks();
  let done = 0;
  for (let id = await target.lastChunk(); ; ) {
    const chunks = await source.chunksAfter(id);
    const last = chunks.at(-1);
    if (last === undefined) return done;
    await target.addChunks(chunks);
    id = last.id;
    done += chunks.length;
    onStep('copying datapoints', done, Math.max(done, all));
  }
}

export interface MoveResult {
  readonly sensors: number;
  readonly datapoints: number;
}

/**
 * Nothing may change in the source any more, all of whose log is sealed. Afterwards the source can be given up, and `finish` of the
 * target lets a server start on it.
 * @throws Refusal `storage` where what was read back is not what was copied.
 */
export async function finishMove(source: MoveSource, target: MoveTarget, onStep: OnProgress): Promise<MoveResult> {
  await alignChunks(source, target, onStep);
  await target.putRest(source, (done) => onStep('copying records', done, movedTables.length));
  return compare(source, target, onStep);
}

/** Both lists are in the order of ids, which are never given twice. */
async function alignChunks(source: MoveSource, target: MoveTarget, onStep: OnProgress): Promise<void> {
  const [theirs, ours] = [new Steps(marksOf(source)), new Steps(marksOf(target))];
  let [from, to] = [await theirs.next(), await ours.next()];
  let wanted: number[] = [];
  let unwanted: ChunkMark[] = [];
  // What is there in another form goes before it comes anew.
  const settle = async () => {
    onStep('comparing what was copied');
    if (unwanted.length > 0) await target.removeChunks(unwanted);
    await copyMissing(source, target, wanted);
    [wanted, unwanted] = [[], []];
  };
  while (from !== undefined || to !== undefined) {
    const isOfSource = from !== undefined && (to === undefined || from.id <= to.id);
    const isOfTarget = to !== undefined && (from === undefined || to.id <= from.id);
    if (!(isOfSource && isOfTarget && isSame(from as ChunkMark, to as ChunkMark))) {
      if (isOfSource) wanted.push((from as ChunkMark).id);
      if (isOfTarget) unwanted.push(to as ChunkMark);
    }
    if (isOfSource) from = await theirs.next();
    if (isOfTarget) to = await ours.next();
    if (wanted.length + unwanted.length >= marksAtOnce) await settle();
  }
  await settle();
}

async function copyMissing(source: MoveSource, target: MoveTarget, ids: readonly number[]): Promise<void> {
  for (let left = ids; left.length > 0; ) {
    const chunks = await source.chunksOf(left.slice(0, chunksAtOnce));
    if (chunks.length === 0) throw new Refusal('storage', 'Chunks of the source are gone while they are moved.');
    await target.addChunks(chunks);
    left = left.slice(chunks.length);
  }
}

/** Chunks noted before they are copied or removed. */
const marksAtOnce = 1_000;
/** Chunks asked for at once; the source may give fewer. */
const chunksAtOnce = 100;

function isSame(one: ChunkMark, other: ChunkMark): boolean {
  return (
    one.sensor === other.sensor &&
    one.first === other.first &&
    one.last === other.last &&
    one.count === other.count &&
    one.size === other.size &&
    one.tail === other.tail
  );
}

async function* marksOf(side: Pick<MoveSource, 'marksAfter'>): AsyncIterable<readonly ChunkMark[]> {
  for (let id = 0; ; ) {
    const marks = await side.marksAfter(id);
    const last = marks.at(-1);
    if (last === undefined) return;
    yield marks;
    id = last.id;
  }
}

/** One by one what comes in steps. */
class Steps<Item> {
  readonly #steps: AsyncIterator<readonly Item[]>;
  #step: readonly Item[] = [];
  #at = 0;

  constructor(steps: AsyncIterable<readonly Item[]>) {
    this.#steps = steps[Symbol.asyncIterator]();
  }

  async next(): Promise<Item | undefined> {
    while (this.#at === this.#step.length) {
      const { value, done } = await this.#steps.next();
      if (done === true) return undefined;
      this.#step = value;
      this.#at = 0;
    }
    return this.#step[this.#at++];
  }
}

/** Count and digest of each sensor, both read back. */
async function compare(source: MoveSource, target: MoveTarget, onStep: OnProgress): Promise<MoveResult> {
  const [theirs, ours] = [new Steps(source.digests()), new Steps(target.digests())];
  let [sensors, datapoints] = [0, 0];
  for (;;) {
    const [from, to] = [await theirs.next(), await ours.next()];
    if (from === undefined && to === undefined) return { sensors, datapoints };
    if (from === undefined || to === undefined || !isEqual(from, to))
      throw new Refusal(
        'storage',
        `What was copied of the sensor with the key ${from?.sensor ?? to?.sensor} is not what is there: ${from?.count ?? 0} datapoints, copied ${to?.count ?? 0}. Nothing is lost: run the move again.`,
      );
    sensors += 1;
    datapoints += from.count;
    onStep('reading back', undefined, undefined);
  }
}

function isEqual(one: SensorDigest, other: SensorDigest): boolean {
  return one.sensor === other.sensor && one.count === other.count && one.digest === other.digest;
}
