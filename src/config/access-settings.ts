// The settings of passwords, and of what those may do who do not sign in. Part of config.ts.
import { integerBetween, oneOf, optional, type Setting, text } from './setting.ts';

export interface AccessConfig {
  readonly adminPassword: string;
  readonly passwordLengthMin: number;
  readonly commonPasswords: 'refuse' | 'allow';
  readonly guestAccess: 'full' | 'push' | 'none' | undefined;
  readonly docsAccess: 'open' | 'guests';
}

export const accessSettings: { readonly [F in keyof AccessConfig]: Setting<AccessConfig[F]> } = {
  adminPassword: {
    env: 'DUNDUN_ADMIN_PASSWORD',
    fallback: '',
    reason:
      'Password of the account admin, set when it is made at first start; empty: one is made up and printed once.',
    secret: true,
    parse: text,
  },
  passwordLengthMin: {
    env: 'DUNDUN_PASSWORD_LENGTH_MIN',
    fallback: '8',
    reason: 'Characters a new password has at least.',
    parse: integerBetween(1, 256),
  },
  commonPasswords: {
    env: 'DUNDUN_COMMON_PASSWORDS',
    fallback: 'refuse',
    reason:
      'Whether a new password may be one of the ten thousand most common ones (allow) or not (refuse). Imported users and hashes are not asked.',
    parse: oneOf('refuse', 'allow'),
  },
  guestAccess: {
    env: 'DUNDUN_GUEST_ACCESS',
    fallback: '',
    reason:
      'What callers without a token may do: full (also change what guest owns), push (create, push and read what is public), none. Empty: what an admin chooses on the dashboard, and full until then.',
    parse: optional(oneOf('full', 'push', 'none')),
  },
  docsAccess: {
    env: 'DUNDUN_DOCS_ACCESS',
    fallback: 'open',
    reason:
      'Who reads the reference at /docs and /openapi.json: everybody (open), or where guest access is none only those who sign in (guests).',
    parse: oneOf('open', 'guests'),
  },
};

/** The fault of a first password that the service would not let anybody choose. */
export function accessFaults({ adminPassword, passwordLengthMin }: AccessConfig): string[] {
  // Unreadable settings have been reported already; no length is below an unreadable one.
  const isShort = adminPassword !== undefined && adminPassword !== '' && [...adminPassword].length < passwordLengthMin;
  if (!isShort) return [];
  return [`DUNDUN_ADMIN_PASSWORD: must have at least ${passwordLengthMin} characters (DUNDUN_PASSWORD_LENGTH_MIN).`];
}
