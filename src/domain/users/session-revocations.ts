// Tells at once whoever holds on to a sign-in (MQTT connections and sessions) that it is good no more: a new password,
// a user who goes, a key that is revoked. Announced by users and keys; what was announced is over when it resolves.
import type { UserKey } from './user.ts';

export interface SessionRevocation {
  readonly userKey: UserKey;
  readonly userId: string;
  readonly username: string;
  /** The API key that was revoked, which ends nothing else. */
  readonly keyId?: string;
  /** True when all API keys of the user end too. */
  readonly withKeys?: boolean;
  /** True when all API keys of the user end, and nothing else. */
  readonly keysOnly?: boolean;
  /** True when the user goes, and with them all that is kept for them. */
  readonly isRemoval?: boolean;
}

type RevocationListener = (revocation: SessionRevocation) => Promise<void>;

export class SessionRevocations {
  readonly #listeners = new Set<RevocationListener>();

  /** Calls the listener for each revocation; the function returned unsubscribes it. */
  subscribe(listener: RevocationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async announce(revocation: SessionRevocation): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener(revocation)));
  }
}
