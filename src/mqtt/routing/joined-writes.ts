// What subscribers are handed in a turn of the event loop, written to each of them at once: a write to a socket takes
// far longer than a message. Written before anything else can happen (`flush`), so that no change of a permission comes
// between the decision and the write. Asked by forwarding.ts; bounded by what is handed out in a turn, and by what
// waits for the subscriber's socket: beyond that it is cut (I4).
import { limits } from '../../config/limits.ts';
import type { PublishForm } from '../protocol/publish-forms.ts';
import type { Client } from '../session/client.ts';
import type { ClientSession } from '../sessions.ts';
import { FrameRun } from './frame-run.ts';
import type { SubscriberBacklog } from './subscriber-backlog.ts';

/** Counts messages that are written to subscribers. */
export interface PublishesOut {
  publishesOut: number;
}

export class JoinedWrites {
  readonly #counts: PublishesOut;
  readonly #backlog: SubscriberBacklog;
  readonly #cut: (session: ClientSession) => void;
  /** Sessions that were handed something since the last flush. */
  #sessions: ClientSession[] = [];
  #begin = new FrameRun();

  /** @param parts.cut is called with a subscriber for which too much waits. */
  constructor(parts: {
    readonly backlog: SubscriberBacklog;
    readonly counts: PublishesOut;
    readonly cut: (session: ClientSession) => void;
  }) {
    this.#counts = parts.counts;
    this.#backlog = parts.backlog;
    this.#cut = parts.cut;
  }

  /** Adds a message to what the subscriber is written at the next flush. */
  add(session: ClientSession, form: PublishForm): void {
    if (session.unwritten === undefined) this.#sessions.push(session);
    session.unwritten = (session.unwritten ?? this.#begin).with(form);
  }

  /** Writes what was added. Whoever hands messages out calls it before it waits for anything. */
  flush(): void {
    if (this.#sessions.length === 0) return;
    const sessions = this.#sessions;
    this.#sessions = [];
    this.#begin = new FrameRun();
    for (const session of sessions) {
      const { unwritten } = session;
      session.unwritten = undefined;
      if (unwritten !== undefined) this.#write(session, unwritten);
    }
  }

  #write(session: ClientSession, run: FrameRun): void {
    const { client } = session;
    const { conn } = client;
    if (client.closed || conn.destroyed || conn.writableEnded) return;
    if (conn.writableLength > limits.subscriberBytesMax || !this.#backlog.add(session, run.bytes)) {
      this.#cut(session);
      return;
    }
    session.messagesOut += run.count;
    this.#counts.publishesOut += run.count;
    const isFree = run.writeTo(conn, () => takeId(client));
    if (!isFree) client.waitForDrain(nothing);
  }
}

function takeId(client: Client): number {
  const id = client.takeId();
  client.v5?.window.take(id);
  return id;
}

function nothing(): void {}
