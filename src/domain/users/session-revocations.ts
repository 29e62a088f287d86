// Announces that sign-ins have ended (new password, removed user, revoked key) to all code that holds on to them,
// such as MQTT connections. Called by accounts, keys and guest access. When `announce` resolves, the sign-ins are no
// longer used anywhere.
import type { Announcer } from '../ports/coordination.ts';
import type { SessionRevocation } from './session-revocation.ts';

type RevocationListener = (revocation: SessionRevocation) => Promise<void>;

export class SessionRevocations {
  readonly #coordination: Announcer;
  readonly #listeners = new Set<RevocationListener>();

  constructor({ coordination }: { readonly coordination: Announcer }) {
    this.#coordination = coordination;
  }

  /** Calls the listener for each revocation; the returned function unsubscribes it. */
  subscribe(listener: RevocationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the sign-ins; resolves when no process uses them any more. */
  async announce(revocation: SessionRevocation): Promise<void> {
    const elsewhere = this.#coordination.announce({ kind: 'sign-in-revoked', revocation });
    await Promise.all([this.apply(revocation), elsewhere]);
  }

  /** Ends the sign-ins in this process; resolves when it no longer uses them. */
  async apply(revocation: SessionRevocation): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener(revocation)));
  }
}
