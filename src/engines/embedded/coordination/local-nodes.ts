// The servers on a data folder: the one that has it locked.
import type { Clock } from '../../../base/time/clock.ts';
import type { NodeFigures, NodeRegister, NodeReport } from '../../../domain/ports/nodes.ts';

export class LocalNodes implements NodeRegister {
  readonly isShared = false;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #leases: () => readonly string[];
  #figures: () => NodeFigures | undefined = () => undefined;

  /** @param parts.leases the names of those that are held. */
  constructor(parts: { readonly id: string; readonly clock: Clock; readonly leases: () => readonly string[] }) {
    this.#id = parts.id;
    this.#clock = parts.clock;
    this.#startedMs = parts.clock.now();
    this.#leases = parts.leases;
  }

  tell(figures: () => NodeFigures): void {
    this.#figures = figures;
  }

  async list(): Promise<readonly NodeReport[]> {
    const own: NodeReport = {
      id: this.#id,
      isOwn: true,
      startedMs: this.#startedMs,
      lastSeenMs: this.#clock.now(),
      silentMs: 0,
      isAlive: true,
      behind: 0,
      behindLog: 0,
      leases: this.#leases(),
      figures: this.#figures(),
    };
    return [own];
  }
}
