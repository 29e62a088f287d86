// Several processes on the same data, in one: each has a domain of its own (caches, watcher of rules, outbox) over one
// engine. For what holds between processes, whatever engine they share. A process can lose its leases, as one does that
// stood still for too long. The clock is that of the machine.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { randomIds } from '../../src/base/ids.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { parseConfig } from '../../src/config/config.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../../src/domain/notifications/outbox/sender.ts';
import type { Lease } from '../../src/domain/ports/coordination.ts';
import type { Engine } from '../../src/domain/ports/engine.ts';
import type { Actor } from '../../src/domain/users/user.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';
import { type Domain, wireDomain } from '../../src/wiring/wire-domain.ts';

export interface JoinedProcess extends Domain {
  /** The first admin, as this process knows them. */
  readonly admin: Actor;
  /** Takes its leases away for good, as from a process that stood still for too long. */
  loseLeases(): Promise<void>;
  /** Ends as a process does that is told to. */
  leave(): Promise<void>;
}

/** The leases of one process. */
interface Leases {
  readonly given: Set<Lease>;
  isCut: boolean;
}

export class SeveralProcesses {
  /** Messages that left, whichever process sent them. */
  readonly sent: OutgoingMessage[] = [];
  readonly #folder: string;
  readonly #engine: Engine;
  readonly #left: (() => Promise<void>)[] = [];

  private constructor(folder: string, engine: Engine) {
    this.#folder = folder;
    this.#engine = engine;
  }

  static async open(): Promise<SeveralProcesses> {
    const folder = await mkdtemp(join(tmpdir(), 'dundun-processes-'));
    return new SeveralProcesses(folder, await openEmbeddedEngine(folder));
  }

  /** One more process. `send`: what it does with a message, beside noting that it left. */
  async join({ send }: { readonly send?: () => Promise<SendOutcome> } = {}): Promise<JoinedProcess> {
    const email: Sender = {
      channel: 'email',
      perSMax: 1_000,
      send: async (message) => {
        this.sent.push(message);
        return send === undefined ? { kind: 'sent' } : send();
      },
    };
    const leases: Leases = { given: new Set(), isCut: false };
    const domain = await wireDomain({
      ...{ clock: systemClock, ids: randomIds, engine: this.#engineNoting(leases), ownPorts: () => [] },
      config: parseConfig({ DUNDUN_DATA_DIR: this.#folder, DUNDUN_ADMIN_PASSWORD: 'a password of the test' }),
      log: pino({ level: 'silent' }),
      overrides: { senders: new Map([['email', email]]) },
    });
    await domain.services.guestAccess.start();
    await domain.rules.outbox.start();
    await domain.rules.watcher.start();
    let leaving: Promise<void> | undefined;
    const end = async () => {
      await domain.writer.idle();
      await domain.charges.flush();
      await domain.rules.watcher.close();
      await domain.rules.outbox.close();
    };
    const leave = () => {
      leaving ??= end();
      return leaving;
    };
    this.#left.push(leave);
    const loseLeases = async () => {
      leases.isCut = true;
      for (const lease of leases.given) await lease.release();
    };
    return { ...domain, admin: domain.users.actorOf(await domain.users.getByName('admin')), loseLeases, leave };
  }

  /** The engine, which notes the leases that it gives, and gives none to a process that was cut off. */
  #engineNoting(leases: Leases): Engine {
    const engine = this.#engine;
    const { stores, commitLog, series, figures } = engine;
    return {
      ...{ stores, commitLog, series, figures },
      coordination: {
        acquire: async (name) => {
          const lease = leases.isCut ? undefined : await engine.coordination.acquire(name);
          if (lease !== undefined) leases.given.add(lease);
          return lease;
        },
      },
      openMqttSessions: (rules) => engine.openMqttSessions(rules),
      usage: () => engine.usage(),
      seal: () => engine.seal(),
      observe: (observer) => engine.observe(observer),
      close: () => engine.close(),
    };
  }

  /** Ends all processes, and removes their data. */
  async close(): Promise<void> {
    for (const leave of this.#left) await leave();
    await this.#engine.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
