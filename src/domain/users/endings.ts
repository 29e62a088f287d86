// Tells at once whoever holds on to a sign-in (MQTT connections and sessions) that it is good no more: a new password,
// a user who goes, a key that is revoked. Announced by users and keys; what was announced is over when it resolves.

export interface Ending {
  readonly userId: string;
  readonly username: string;
  /** The API key that was revoked, which ends nothing else. */
  readonly keyId?: string;
  /** True when the user goes, and with them all that is kept for them. */
  readonly isRemoval?: boolean;
}

type Follower = (ending: Ending) => Promise<void>;

export class Endings {
  readonly #followers = new Set<Follower>();

  /** Follows the endings; the function given back stops it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  async announce(ending: Ending): Promise<void> {
    await Promise.all([...this.#followers].map((follower) => follower(ending)));
  }
}
