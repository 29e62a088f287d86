// Announces that a sign-in has ended (new password, removed user, revoked key) to everything that holds on to it, such
// as MQTT connections. Announced by users and keys; when `announce` resolves, the sign-in is no longer used anywhere.
import type { UserKey } from './user.ts';

export interface SessionRevocation {
  readonly userKey: UserKey;
  readonly userId: string;
  readonly username: string;
  /** Only sign-ins with this API key end. */
  readonly keyId?: string;
  /** True when all API keys of the user end too. */
  readonly withKeys?: boolean;
  /** True when only the API keys of the user end. */
  readonly keysOnly?: boolean;
  /** True when the user is removed, with everything stored for them. */
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
