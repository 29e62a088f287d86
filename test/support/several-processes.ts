// Several processes on the same data, in one: each has a domain of its own (caches, watcher of rules, outbox) over one
// engine, and follows what the others commit. For what holds between processes, whatever engine they share. A process can lose its leases, as one does that
// stood still for too long. The clock is that of the machine.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { randomIds } from '../../src/base/ids.ts';
import { RateLimitedLog } from '../../src/base/rate-limited-log.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { ClockWatch } from '../../src/base/time/clock-watch.ts';
import { parseConfig } from '../../src/config/config.ts';
import { countRows, type DatapointBatch } from '../../src/domain/datapoints/datapoint-batch.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../../src/domain/notifications/outbox/sender.ts';
import type { Announcement, AnnouncementHandlers } from '../../src/domain/ports/announcement.ts';
import type { CommitLog, FollowedPush } from '../../src/domain/ports/commit-log.ts';
import type { Coordination, Lease } from '../../src/domain/ports/coordination.ts';
import type { Engine } from '../../src/domain/ports/engine.ts';
import type { Actor } from '../../src/domain/users/user.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';
import { followAnnouncements } from '../../src/wiring/wire-announcements.ts';
import { type Domain, wireDomain } from '../../src/wiring/wire-domain.ts';
import { engineWith } from './engine-with.ts';

export interface JoinedProcess extends Domain {
  /** The first admin, as this process knows them. */
  readonly admin: Actor;
  /** Takes its leases away for good, as from a process that stood still for too long. */
  loseLeases(): Promise<void>;
  /** Ends as a process does that is told to. */
  leave(): Promise<void>;
}

/** What one process does on announcements and commits of the others. */
interface Listening {
  handlers: AnnouncementHandlers | undefined;
  commitLog: CommitLog | undefined;
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
  readonly #listening = new Set<Listening>();
  readonly #left: (() => Promise<void>)[] = [];
  /** One commit at a time, told to all processes before the next: so all follow one order. */
  #lastAppend: Promise<unknown> = Promise.resolve();

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
    const own: Listening = { handlers: undefined, commitLog: undefined };
    this.#listening.add(own);
    const engine = this.#engineOf(own, leases);
    const log = new RateLimitedLog({ sink: pino({ level: 'silent' }), clock: systemClock });
    const clocks = new ClockWatch({ clock: systemClock, log, steadyMs: 0 });
    const domain = await wireDomain({
      ...{ clock: systemClock, clocks, ids: randomIds, engine, ownPorts: () => [] },
      config: parseConfig({ DUNDUN_DATA_DIR: this.#folder, DUNDUN_ADMIN_PASSWORD: 'a password of the test' }),
      log,
      overrides: { senders: new Map([['email', email]]) },
    });
    followAnnouncements(engine.coordination, domain);
    await domain.services.guestAccess.start();
    await domain.rules.outbox.start();
    await domain.rules.watcher.start();
    let leaving: Promise<void> | undefined;
    const end = async () => {
      await domain.writer.idle();
      await domain.charges.flush();
      await domain.rules.watcher.close();
      await domain.rules.outbox.close();
      this.#listening.delete(own);
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

  /** The engine of one process: gives no lease to one that was cut off, and has the others hear what it announces. */
  #engineOf(own: Listening, leases: Leases): Engine {
    const { coordination } = this.#engine;
    own.commitLog = this.#commitLogOf(own);
    const between: Partial<Coordination> = {
      acquire: async (name) => {
        const lease = leases.isCut ? undefined : await coordination.acquire(name);
        if (lease !== undefined) leases.given.add(lease);
        return lease;
      },
      announce: async (announcement) => {
        const others = [...this.#listening].filter((other) => other !== own);
        await Promise.all(others.map(({ handlers }) => handlers && handle(handlers, announcement)));
      },
      listen: (handlers) => {
        own.handlers = handlers;
      },
    };
    return engineWith(this.#engine, between, own.commitLog);
  }

  /** The log as one process has it: the others follow what it appends. */
  #commitLogOf(own: Listening): CommitLog {
    const { commitLog } = this.#engine;
    const append = async (batch: DatapointBatch) => {
      const firstSeq = await commitLog.append(batch);
      const pushes = await pushesOf(commitLog, firstSeq, countRows(batch));
      const others = [...this.#listening].filter((other) => other !== own);
      for (const other of others) await other.commitLog?.onFollowed(structuredClone(pushes));
      return firstSeq;
    };
    return {
      append: (batch) => {
        const appended = this.#lastAppend.then(() => append(batch));
        this.#lastAppend = appended.catch(() => {});
        return appended;
      },
      onFollowed: async () => {},
      relay: (messageOf) => {
        const others = [...this.#listening].filter((other) => other !== own);
        if (others.length === 0) return undefined;
        const message = messageOf();
        return Promise.all(others.map(async ({ commitLog: of }) => of?.onRelayed([structuredClone(message)]))).then();
      },
      onRelayed: async () => {},
      caughtUp: async () => {},
      onPublished: () => {},
      get isCatchingUp() {
        return commitLog.isCatchingUp;
      },
      get sealingDebt() {
        return commitLog.sealingDebt;
      },
      set onCaughtUp(caughtUp: () => void) {
        commitLog.onCaughtUp = caughtUp;
      },
      get lastPosition() {
        return commitLog.lastPosition;
      },
      newestReceivedMs: () => commitLog.newestReceivedMs(),
      readAfter: (position) => commitLog.readAfter(position),
      confirm: (position, fence) => commitLog.confirm(position, fence),
      confirmedPosition: () => commitLog.confirmedPosition(),
      claimReceipt: (id, options) => commitLog.claimReceipt(id, options),
      releaseClaim: (id) => commitLog.releaseClaim(id),
      listFingerprints: () => commitLog.listFingerprints(),
      trimFingerprints: (trim) => commitLog.trimFingerprints(trim),
    };
  }

  /** Ends all processes, and removes their data. */
  async close(): Promise<void> {
    for (const leave of this.#left) await leave();
    await this.#engine.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The datapoints from a seq on as another process follows them. */
async function pushesOf(commitLog: CommitLog, firstSeq: number, count: number): Promise<FollowedPush[]> {
  const pushes: FollowedPush[] = [];
  while (pushes.length < count) {
    const entries = await commitLog.readAfter(firstSeq + pushes.length - 1);
    for (const { sensor, seq, receivedMs, skipsRules, value, timestampMs } of entries.slice(0, count - pushes.length)) {
      const readings = [{ value, timestampMs: timestampMs ?? Number.NaN }];
      pushes.push({ sensor, readings, receivedMs, firstSeq: seq, many: false, skipsRules });
    }
  }
  return pushes;
}

/** Plain values alone come through, as over a network. */
function handle(handlers: AnnouncementHandlers, announcement: Announcement): Promise<void> {
  const apply = handlers[announcement.kind] as (announcement: Announcement, server: string) => Promise<void>;
  return apply(structuredClone(announcement), 'another');
}
