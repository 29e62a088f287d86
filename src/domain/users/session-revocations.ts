// Announces that a sign-in has ended (new password, removed user, revoked key) to everything that holds on to it, such
// as MQTT connections. Announced by users and keys; when `announce` resolves, the sign-in is no longer used anywhere.
import type { Announcer } from '../ports/coordination.ts';
import type { SessionRevocation } from './session-revocation.ts';

type RevocationListener = (revocation: SessionRevocation) => Promise<void>;

export class SessionRevocations {
  readonly #coordination: Announcer;
  readonly #listeners = new Set<RevocationListener>();

  constructor({ coordination }: { readonly coordination: Announcer }) {
    this.#coordination = coordination;
  }

  /** Calls the listener for each revocation; the function returned unsubscribes it. */
  subscribe(listener: RevocationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when no process uses the sign-in any more. */
  async announce(revocation: SessionRevocation): Promise<void> {
    const elsewhere = this.#coordination.announce({ kind: 'sign-in-revoked', revocation });
    await Promise.all([this.apply(revocation), elsewhere]);
  }

  /** Resolves when this process does not use the sign-in any more. */
  async apply(revocation: SessionRevocation): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener(revocation)));
  }
}
