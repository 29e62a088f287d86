// How many pushes of the fast path are under way to their commit. What has been made of a push lives until its commit, and where
// tens of thousands live, the garbage collector, which copies and marks what lives, takes a quarter of the time of the thread. Beyond
// the bound, others are not read (reading-turns.ts). More are let in while the thread is not busy: then the disk is what all wait for,
// and a commit is to have what it can take.
import { limits } from '../../config/limits.ts';

/** How much of the time since the last call the thread was busy, between 0 and 1. */
export type Utilization = () => number;

/** Below this the thread waits for the disk. */
const busyFrom = 0.9;

export class PushRoom {
  readonly #utilization: Utilization;
  readonly #onRoom: () => void;
  #underWay = 0;
  #max = 0;
  #looks: NodeJS.Timeout | undefined;

  /** @param onRoom called when there is room again. */
  constructor(utilization: Utilization, onRoom: () => void) {
    this.#utilization = utilization;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return !this.hasFor(0);
  }

  /** Whether there is room beside so many that are expected. */
  hasFor(expected: number): boolean {
    return this.#underWay + expected < Math.max(this.#max, limits.pushesUnderWayMin);
  }

  /** Pushes are on their way to a commit. */
  begun(count: number): void {
    this.#underWay += count;
    if (this.isFull) this.#watch();
  }

  /** They are stored, or refused. */
  ended(count: number): void {
    const wasFull = this.isFull;
    this.#underWay -= count;
    if (wasFull && !this.isFull) this.#onRoom();
  }

  #watch(): void {
    if (this.#looks !== undefined) return;
    this.#utilization();
    this.#looks = setInterval(() => this.#look(), limits.pushRoomLookMs).unref();
  }

  /** Twice as many where all wait for the disk; fewer, step by step, where the thread is what they wait for, or few come. */
  #look(): void {
    const { pushesUnderWayMin, pushesUnderWayMax } = limits;
    const max = Math.max(this.#max, pushesUnderWayMin);
    const isNeeded = this.#underWay >= pushesUnderWayMin;
    if (this.#utilization() >= busyFrom || !isNeeded) this.#max = Math.max(pushesUnderWayMin, Math.floor(max * 0.75));
    else if (this.isFull) {
      this.#max = Math.min(2 * max, pushesUnderWayMax);
      if (!this.isFull) this.#onRoom();
    }
    if (this.#max > pushesUnderWayMin || isNeeded) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }
}
