// Answers the broker about each message that a client sends, and about each will: when the message is stored, dropped or
// relayed, the broker may acknowledge it. publishing.ts decides which of these. Answers of one connection are given in the
// order of its messages. An error given to the broker cuts the client, so that it sends again what was not stored.
import type { Client, PublishPacket } from 'aedes';
import type { Log } from '../base/log.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { Presence } from '../domain/gateways/presence.ts';
import type { Actor } from '../domain/users/user.ts';
import type { AnswerOrder } from './answer-order.ts';
import type { Broker } from './broker.ts';
import type { Publishing } from './publishing.ts';
import type { ClientSession, Sessions } from './sessions.ts';
import type { SignIn, Will } from './sign-in.ts';
import type { BrokerCounts } from './sys/broker-counts.ts';
import type { Undecided } from './undecided.ts';

interface Parts {
  readonly publishing: Publishing;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly presence: Presence;
  readonly gateways: Gateways;
  readonly counts: BrokerCounts;
  readonly answers: AnswerOrder;
  readonly undecided: Undecided;
  readonly broker: () => Broker;
  /** Resolves when the subscribers of a relayed message have it, or it is queued for them. */
  readonly relay: (packet: PublishPacket, publisher: Actor | undefined) => Promise<void>;
  readonly log: Log;
}

export class IncomingPublishes {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Calls `done` when the message may be acknowledged; with an error, which cuts the client, only where the message could not
   * be stored, or its client was not let in.
   */
  authorize(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const { sessions, presence, gateways, undecided, counts, answers, broker } = this.#parts;
    const session = client === null ? undefined : sessions.of(client);
    if (client !== null && sessions.hasEnded(client)) {
      // The session has ended: drops its last messages and its will.
      broker().take(packet);
      done();
      return;
    }
    if (client !== null && session === undefined && packet.messageId !== undefined) {
      // The broker reads on for a while from a client that was refused. Wills have no session either, but no packet id.
      done(new Error('The client has not been let in.'));
      return;
    }
    if (session !== undefined) presence.noteActivity(session, gateways.peek(session.clientId));
    undecided.begin();
    // A will arrives after its connection has closed, when its client id may belong to another client.
    const isWill = session === undefined || (packet as Will).user !== undefined;
    if (!isWill) counts.received(session, 1);
    const answer = isWill || client === null ? done : answers.inOrder(client, packet, done);
    (isWill ? this.#publishWill(packet, session) : this.#publish(session, packet)).then(
      () => {
        answer();
        undecided.end();
      },
      (error: Error) => {
        this.noteUnstored(session, error);
        done(error);
        undecided.end();
      },
    );
  }

  noteUnstored(session: ClientSession | undefined, error: Error): void {
    this.#parts.log.warn({ client: session?.clientId, reason: error.message }, 'a message could not be stored');
  }

  /** Stores, drops or relays a message. Afterwards the broker only acknowledges it (`take`), unless QoS 2 is relayed. */
  async #publish(session: ClientSession, packet: PublishPacket): Promise<void> {
    const { publishing, broker, relay } = this.#parts;
    const decision = await publishing.decide(session, { ...packet, dup: packet.dup === true });
    if (decision === 'relay') {
      // For QoS 2 the broker recognises repeats itself, and acknowledges after routing.
      broker().notePublisher(packet, session.actor);
      if (packet.qos === 2) return;
      await relay(packet, session.actor);
    }
    broker().take(packet);
  }

  /** Publishes a will. Permission is checked now, in the name of the user who left it. */
  async #publishWill(will: Will, session: ClientSession | undefined): Promise<void> {
    const { sessions, signIn, broker } = this.#parts;
    const own = session?.actor.key === will.user ? session : await signIn.sessionOfWill(will);
    if (own === undefined || !(await sessions.isStillGood(own))) broker().take(will);
    else await this.#publish(own, will);
  }
}
