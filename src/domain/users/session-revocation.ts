// The end of sign-ins: of which user, and which of their sign-ins. Announced by session-revocations.ts.
import type { UserKey } from './user.ts';

export interface SessionRevocation {
  readonly userKey: UserKey;
  readonly userId: string;
  readonly username: string;
  /** Set when only sign-ins with this API key end. */
  readonly keyId?: string;
  /** True when all API keys of the user end too. */
  readonly withKeys?: boolean;
  /** True when only the API keys of the user end. */
  readonly keysOnly?: boolean;
  /** True when the user is removed, with everything stored for them. */
  readonly isRemoval?: boolean;
}
