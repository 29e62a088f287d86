// What the service itself writes to its users by e-mail, and where such mail waits: in the outbox, which sends it when the
// answer that brought it about has long gone out.
import type { User } from '../users/user.ts';

export const mailLanguages = ['en', 'fr'] as const;
export type MailLanguage = (typeof mailLanguages)[number];

export type AccountMailKind =
  /** A link to set a new password, to the confirmed address. */
  | 'reset'
  /** A link to confirm the address. */
  | 'confirm'
  /** To the address before: that there is another one now. */
  | 'email-changed'
  /** To the confirmed address: that a new password was set by a link. */
  | 'password-set';

export interface AccountMail {
  readonly kind: AccountMailKind;
  /** The address as it was when the mail was asked for. It never has a secret in it: that is made when it is sent. */
  readonly to: string;
  readonly language: MailLanguage;
  /** When it was asked for, in milliseconds since 1970 UTC. */
  readonly askedMs: number;
}

export interface AccountMailOutbox {
  /** Resolves when the mail is stored; it is sent soon. */
  add(user: User, mail: AccountMail): Promise<void>;
}

/** One address, without names, comments and lists, which would reach other people. */
export function isEmailAddress(text: string): boolean {
  return /^[^\s@,;:<>()"\\]+@[^\s@,;:<>()"\\]+$/.test(text);
}
