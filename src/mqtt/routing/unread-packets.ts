// Bounds what subscribers have been sent and do not read, in bytes shared among callers and in time. Called by
// mqtt-server.ts for each connection. Ensures that the total is bounded (I4), and that no datapoint is refused because
// of it: what is counted here is no longer counted as being delivered.
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { FairShare } from '../../domain/callers/fair-share.ts';
import type { Client } from '../session/client.ts';
import type { ClientSession } from '../sessions.ts';

export class UnreadPackets {
  readonly #share: FairShare;
  readonly #held = new Map<Client, { readonly caller: Caller; bytes: number }>();
  readonly #sessionOf: (client: Client) => ClientSession | undefined;
  readonly #onSlow: (session: ClientSession) => void;
  readonly #onHeld: () => void;

  constructor(parts: {
    /** The memory for all data on its way in or out. */
    readonly passing: FairShare;
    readonly sessionOf: (client: Client) => ClientSession | undefined;
    /** Called with a subscriber that is cut. */
    readonly onSlow: (session: ClientSession) => void;
    /** Called when more waits here, and thus less elsewhere. */
    readonly onHeld: () => void;
  }) {
    const { unreadBytesMax: aloneMax, unreadBytesReserve: reserve } = limits;
    this.#share = new FairShare('unreadBytes', { aloneMax, reserve, within: parts.passing });
    this.#sessionOf = parts.sessionOf;
    this.#onSlow = parts.onSlow;
    this.#onHeld = parts.onHeld;
  }

  /** Bytes that wait for subscribers whose sockets are full. */
  get bytes(): number {
    return this.#share.held;
  }

  /** Counts the client's waiting bytes; its socket is full. */
  note(client: Client): void {
    const session = this.#sessionOf(client);
    // Before the sign-in nothing is delivered.
    if (session === undefined) return;
    const { caller } = session.actor;
    const held = this.#held.get(client);
    const more = client.conn.writableLength - (held?.bytes ?? 0);
    if (more <= 0) return;
    if (!this.#share.allows(caller, more)) {
      this.#onSlow(session);
      client.conn.destroy();
      return;
    }
    this.#share.force(caller, more);
    if (held !== undefined) held.bytes += more;
    else this.#hold(client, { caller, bytes: more });
    this.#onHeld();
  }

  #hold(client: Client, held: { readonly caller: Caller; bytes: number }): void {
    this.#held.set(client, held);
    const end = () => {
      client.conn.off('drain', later);
      client.conn.off('close', later);
      this.#held.delete(client);
      this.#share.release(held.caller, held.bytes);
    };
    // One turn later, because messages that wait for the socket are handled in this one and count here until then.
    const later = () => void setImmediate(() => this.#held.get(client) === held && end());
    client.conn.on('drain', later);
    client.conn.on('close', later);
  }
}
