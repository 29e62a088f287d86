// Follows alarms live: what has changed is read from the store, for each reader what they may see at that time (I6). A reader
// who is away or slow misses nothing, because the store has it; so nothing waits in memory for anybody (I4).
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { FairShare } from '../callers/fair-share.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Actor } from '../users/user.ts';
import type { Alarm } from './alarm.ts';
import type { AlarmChanges } from './alarm-changes.ts';
import type { AlarmCursor, AlarmStore } from './alarm-store.ts';

export type AlarmEvent =
  | { readonly kind: 'alarm'; readonly alarm: Alarm; readonly cursor: AlarmCursor }
  /** The last event of a stream. */
  | { readonly kind: 'end'; readonly reason: string };

export interface AlarmStream {
  /** The events in steps; an empty step is a heartbeat. Iterate once. */
  events(): AsyncGenerator<AlarmEvent[]>;
  /** The reader has gone. */
  leave(): void;
}

interface StreamRequest {
  /** Returns the actor with present rights. @throws Refusal `unauthenticated` */
  readonly actorNow: () => Promise<Actor>;
  /** How far the reader had come, if it was connected before. */
  readonly last: AlarmCursor | undefined;
}

export class AlarmStreams {
  readonly #store: AlarmStore;
  readonly #permissions: Permissions;
  readonly #changes: AlarmChanges;
  readonly #share = new FairShare('alarmStreams', {
    aloneMax: limits.alarmStreamsMax,
    reserve: limits.alarmStreamsReserve,
  });
  readonly #open = new Set<OpenStream>();

  constructor(parts: {
    readonly alarmStore: AlarmStore;
    readonly permissions: Permissions;
    readonly changes: AlarmChanges;
  }) {
    this.#store = parts.alarmStore;
    this.#permissions = parts.permissions;
    this.#changes = parts.changes;
  }

  /** @throws Refusal `unauthenticated` */
  permit(actor: Actor): void {
    this.#permissions.alarmViewOf(actor);
  }

  /** @throws Refusal `unauthenticated`; `too-many` where the caller has its share of streams. */
  async open({ actorNow, last }: StreamRequest): Promise<AlarmStream> {
    const actor = await actorNow();
    this.permit(actor);
    const { caller } = actor;
    if (!this.#share.allows(caller, 1))
      throw new Refusal('too-many', 'You have as many streams of alarms as one may have. End some of yours.', {
        retryAfterS: 30,
      });
    this.#share.force(caller, 1);
    const onEnd = () => {
      this.#open.delete(stream);
      this.#share.release(caller, 1);
    };
    const stream = new OpenStream({
      onEnd,
      listen: (listener) => this.#changes.listen(listener),
      begin: async () => last ?? (await this.#store.lastChange()),
      next: async (after) => {
        await loopTurns.turn(caller);
        return this.#store.listChanged(after, this.#permissions.alarmViewOf(await actorNow()));
      },
    });
    this.#open.add(stream);
    return stream;
  }

  /** Ends all streams with a reason. */
  close(): void {
    for (const stream of this.#open) stream.end('The service is stopping. Come back shortly.');
  }
}

interface StreamParts {
  readonly onEnd: () => void;
  readonly listen: (listener: () => void) => () => void;
  readonly begin: () => Promise<AlarmCursor>;
  readonly next: (after: AlarmCursor) => ReturnType<AlarmStore['listChanged']>;
}

class OpenStream implements AlarmStream {
  readonly #parts: StreamParts;
  readonly #unlisten: () => void;
  #wake: () => void = () => {};
  /** True from a change until it is read. */
  #hasChanged = false;
  #reason: string | undefined;
  #isOver = false;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#unlisten = parts.listen(() => {
      this.#hasChanged = true;
      this.#wake();
    });
  }

  end(reason: string): void {
    this.#reason ??= reason;
    this.#wake();
  }

  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unlisten();
    this.#parts.onEnd();
    this.#wake();
  }

  async *events(): AsyncGenerator<AlarmEvent[]> {
    try {
      yield [];
      yield* this.#follow();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      yield [{ kind: 'end', reason: error.message }];
    } finally {
      this.leave();
    }
  }

  async *#follow(): AsyncGenerator<AlarmEvent[]> {
    let cursor = await this.#parts.begin();
    while (!this.#isOver && this.#reason === undefined) {
      this.#hasChanged = false;
      const step = await this.#parts.next(cursor);
      cursor = step.cursor;
      yield step.alarms.map((alarm) => {
        return { kind: 'alarm', alarm, cursor: { changed: alarm.changed, key: alarm.key } } as const;
      });
      if (!step.isEnd) {
        // Who comes back after long reads on without haste: others read the same store.
        await this.#wait(limits.alarmStreamBehindMs, { isEndedByChange: false });
        continue;
      }
      // However often something changes, a stream asks the store once in a while.
      await this.#wait(limits.alarmStreamPauseMs, { isEndedByChange: false });
      if (!this.#hasChanged) await this.#wait(limits.liveHeartbeatMs, { isEndedByChange: true });
    }
    if (this.#reason !== undefined && !this.#isOver) yield [{ kind: 'end', reason: this.#reason }];
  }

  #wait(ms: number, { isEndedByChange }: { readonly isEndedByChange: boolean }): Promise<void> {
    return new Promise((resolve) => {
      const isDone = () => this.#isOver || this.#reason !== undefined || (isEndedByChange && this.#hasChanged);
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        if (!isDone()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#wake();
    });
  }
}
