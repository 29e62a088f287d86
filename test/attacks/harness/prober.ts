// Starts the thread that calls the service during an attack (prober-thread.ts), and returns its measurements.
import { Worker } from 'node:worker_threads';

/** What is asked for, each in a loop of its own. `bare …`: of the server beside the service, for what the machine itself takes. */
export type ProbeKind = 'health' | 'push' | 'publish' | 'hear' | 'read' | 'sign in' | 'bare get' | 'bare write';

export interface ProbeOrder {
  readonly http: number;
  readonly mqtt: number;
  readonly control: number;
  /** Certificates to trust, where HTTP is HTTPS. */
  readonly ca?: readonly string[];
  /** An API key of the ordinary user, and a device of theirs with the sensors `s` and, subscribed to, `heard`. */
  readonly key: string;
  readonly device: string;
  /** Users whose sign-ins nobody remembers yet; and their password. */
  readonly people: readonly string[];
  readonly password: string;
}

export interface ProbeKindReport {
  readonly longestMs: number;
  readonly count: number;
  /** Statuses from 400 on, and what became of requests that were not answered. */
  readonly refused: readonly string[];
}

export type ProbeReport = Readonly<Record<ProbeKind, ProbeKindReport>>;

export class Prober {
  readonly #worker: Worker;
  readonly #begun: Promise<void>;
  readonly #failed: Promise<never>;

  private constructor(order: ProbeOrder) {
    this.#worker = new Worker(new URL('./prober-thread.ts', import.meta.url), { workerData: order });
    this.#begun = new Promise((resolve) => this.#worker.once('message', () => resolve()));
    this.#failed = new Promise((_, reject) => this.#worker.once('error', reject));
    this.#failed.catch(() => {});
  }

  static async start(order: ProbeOrder): Promise<Prober> {
    const prober = new Prober(order);
    await Promise.race([prober.#begun, prober.#failed]);
    return prober;
  }

  /** Forgets what it has measured so far: code that runs for the first time is slow whoever asks. */
  measure(): void {
    this.#worker.postMessage('measure');
  }

  async stop(): Promise<ProbeReport> {
    const report = new Promise<ProbeReport>((resolve) => this.#worker.once('message', resolve));
    this.#worker.postMessage('stop');
    const told = await Promise.race([report, this.#failed]);
    await this.#worker.terminate();
    return told;
  }
}
