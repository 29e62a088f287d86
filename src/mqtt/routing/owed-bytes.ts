// Counts what connections of version 5 have the service keep for them: messages beyond their Receive Maximum, messages of
// shared subscriptions that they have not acknowledged, topic aliases. All of it is data on its way, shared among callers, so
// that nobody fills the memory by never acknowledging (I4). What finds no room cuts its connection.
import { limits } from '../../config/limits.ts';
import type { FairShare } from '../../domain/callers/fair-share.ts';
import type { Client } from '../session/client.ts';
import type { ClientSession } from '../sessions.ts';
import type { Owed } from './shared/shared-delivery.ts';

export class OwedBytes {
  readonly #passing: FairShare;

  constructor(passing: FairShare) {
    this.#passing = passing;
  }

  /** Holds a message for the session; undefined where there is no room. */
  ofMessage(
    { actor: { caller } }: ClientSession,
    {
      topic,
      payload,
      properties,
    }: { readonly topic: string; readonly payload: Uint8Array; readonly properties?: Uint8Array | undefined },
  ): Owed | undefined {
    const bytes = topic.length + payload.length + (properties?.length ?? 0) + limits.backlogMessageBytes;
    return this.#passing.take(caller, bytes) ? { caller, bytes } : undefined;
  }

  release({ caller, bytes }: Owed): void {
    this.#passing.release(caller, bytes);
  }

  /** Counts the topic aliases of a client, after one may have been added. False where there is no room. */
  hasRoomForAliases({ v5 }: Client, { actor: { caller } }: ClientSession): boolean {
    if (v5 === undefined) return true;
    const more = v5.aliasBytes - v5.countedAliasBytes;
    if (more > 0 && !this.#passing.take(caller, more)) return false;
    if (more < 0) this.#passing.release(caller, -more);
    v5.countedAliasBytes += more;
    return true;
  }

  /** The connection of the session has closed: gives back what it held. */
  closed({ v5 }: Client, { actor: { caller } }: ClientSession): void {
    if (v5 === undefined) return;
    this.#passing.release(caller, v5.window.clear() + v5.countedAliasBytes);
    v5.countedAliasBytes = 0;
  }
}
