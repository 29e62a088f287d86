// The store of links that are mailed to users, as the domain needs it; engines implement it.
import type { UserKey } from '../users/user.ts';

/** Whether a link sets a new password, or confirms an e-mail address. */
export type LinkPurpose = 'reset' | 'confirm';

export interface AccountLink {
  /** SHA-256 of the secret, in base64; the secret itself is not stored. */
  readonly hash: string;
  readonly user: UserKey;
  readonly purpose: LinkPurpose;
  /** The address that it was sent to. */
  readonly email: string;
  /** Milliseconds since 1970 UTC. */
  readonly createdMs: number;
  readonly expiresMs: number;
}

export interface AccountLinkStore {
  find(hash: string): Promise<AccountLink | undefined>;
  /**
   * Adds a link; removes the user's oldest ones of this purpose beyond `max`, and all that expired before `nowMs`.
   */
  create(link: AccountLink, bounds: { readonly max: number; readonly nowMs: number }): Promise<void>;
  /**
   * Spends the link: sets the password as `UserStore.setPassword` does.
   * @returns false where the link was spent meanwhile, or the user has another confirmed address by now.
   */
  setPassword(link: AccountLink, password: { readonly hash: string; readonly endKeys: boolean }): Promise<boolean>;
  /**
   * Spends the link: its address is the confirmed one of its user.
   * @returns false where the link was spent meanwhile, or the user has another address by now.
   */
  confirm(link: AccountLink): Promise<boolean>;
}
