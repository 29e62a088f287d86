// Hashes passwords with argon2id in PHC form (contract 2). Only a few are hashed at once; waiting ones are shared
// among callers, who take turns.
import { argon2, timingSafeEqual } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { Refusal } from '../../base/refusal.ts';
import { hasCharsMax } from '../../base/text/text-length.ts';
import { limits } from '../../config/limits.ts';
import { type Asker, assertThere } from '../callers/asker.ts';
import { Caller } from '../callers/caller.ts';
import { FairQueue } from '../callers/fair-queue.ts';
import { FairShare } from '../callers/fair-share.ts';
import { isCommonPassword } from './password-list.ts';

// With limits.hashKib OWASP's second recommendation for argon2id: some 30 ms on a small machine.
const passes = 2;
const parallelism = 1;
const tagBytes = 32;
const saltBytes = 16;

/** Bounds for imported hashes: at most 256 MiB and some seconds each. */
const foreign = { memoryKibMax: 262_144, passesMax: 16, parallelismMax: 16, bytesMax: 64 };

/** Whether a new password may be one of the most common ones. */
export type CommonPasswords = 'refuse' | 'allow';

/** The caller of hashes for the command line and for the first start. */
const commandLine = new Caller('command line');

export class Passwords {
  readonly #ids: Ids;
  readonly #lengthMin: number;
  readonly #common: CommonPasswords;
  readonly #queue = new FairQueue({
    share: new FairShare('hashes', { aloneMax: limits.hashesWaitingMax, reserve: limits.hashesWaitingReserve }),
    atOnceMax: limits.hashesAtOnceMax,
    waitMsMax: limits.hashesWaitMsMax,
  });

  constructor(options: { readonly ids: Ids; readonly lengthMin: number; readonly common?: CommonPasswords }) {
    this.#ids = options.ids;
    this.#lengthMin = options.lengthMin;
    this.#common = options.common ?? 'refuse';
  }

  /**
   * Checks a new password. @throws Refusal `malformed` when it is too short, too long or among the most common ones.
   */
  assertGood(password: string, { allowCommon = false }: { readonly allowCommon?: boolean | undefined } = {}): void {
    this.#assertLength(password);
    if (allowCommon || this.#common === 'allow' || !isCommonPassword(password)) return;
    throw new Refusal('malformed', 'This password is one of the ten thousand most common ones. Choose another.', {
      faults: [{ pointer: '/password', detail: 'is one of the most common passwords, which are guessed first' }],
    });
  }

  #assertLength(password: string): void {
    // Checked first, because the next check examines each character.
    if (!hasCharsMax(password, limits.passwordCharsMax)) {
      throw new Refusal('malformed', `A password may have ${limits.passwordCharsMax} characters.`, {
        faults: [{ pointer: '/password', detail: `must have at most ${limits.passwordCharsMax} characters` }],
      });
    }
    if ([...password].length < this.#lengthMin) {
      throw new Refusal('malformed', `A password needs at least ${this.#lengthMin} characters.`, {
        faults: [{ pointer: '/password', detail: `must have at least ${this.#lengthMin} characters` }],
      });
    }
  }

  /**
   * Checks that an imported hash can be verified, at a bounded cost.
   * @throws Refusal `malformed`
   */
  assertHash(phc: string): void {
    const parameters = parsePhc(phc);
    const isGood =
      parameters !== undefined &&
      isBetween(parameters.parallelism, 1, foreign.parallelismMax) &&
      isBetween(parameters.passes, 1, foreign.passesMax) &&
      isBetween(parameters.memoryKib, 8 * parameters.parallelism, foreign.memoryKibMax) &&
      isBetween(parameters.salt.length, 8, foreign.bytesMax) &&
      isBetween(parameters.tag.length, 16, foreign.bytesMax);
    if (isGood) return;
    const detail = `must be a PHC string such as $argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>, with m up to ${foreign.memoryKibMax}, t up to ${foreign.passesMax}, p up to ${foreign.parallelismMax}`;
    throw new Refusal('malformed', `The password hash ${detail}.`, { faults: [{ pointer: '/passwordHash', detail }] });
  }

  /** Hashes a password. @returns a PHC string, `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. @throws Refusal `busy` */
  async hash(password: string, caller: Caller = commandLine): Promise<string> {
    const salt = this.#ids.bytes(saltBytes);
    const memoryKib = limits.hashKib;
    const options = { salt, memoryKib, passes, parallelism, tagBytes };
    const tag = await this.inTurn({ caller }, () => derive(password, options));
    return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`;
  }

  /**
   * Does work that may verify a password when it is the asker's turn.
   * @throws Refusal `busy` when too many of the asker wait, when its turn does not come in time, or when it has gone.
   */
  async inTurn<T>(asker: Asker, work: () => Promise<T>): Promise<T> {
    if (!(await this.#queue.acquire(asker.caller, asker))) {
      throw new Refusal('busy', 'Too many sign-ins at once. Try again shortly.', {
        retryAfterS: limits.busyRetryAfterS,
      });
    }
    try {
      assertThere(asker);
      return await work();
    } finally {
      this.#queue.release();
    }
  }

  /**
   * Compares in constant time. Without a hash it takes as long as with one, so that the timing does not reveal which
   * names exist. Only within `inTurn`.
   */
  async verify(password: string, phc: string | undefined): Promise<boolean> {
    const parameters = parsePhc(phc ?? nobodysHash());
    if (parameters === undefined) return false;
    const tag = await derive(password, parameters);
    return timingSafeEqual(tag, parameters.tag) && phc !== undefined;
  }
}

function derive(password: string, options: DeriveOptions): Promise<Buffer> {
  const parameters = {
    message: password.normalize('NFC'),
    nonce: options.salt,
    parallelism: options.parallelism,
    tagLength: options.tagBytes,
    memory: options.memoryKib,
    passes: options.passes,
  };
  return new Promise((resolve, reject) => {
    argon2('argon2id', parameters, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

interface DeriveOptions {
  readonly salt: Uint8Array;
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly tagBytes: number;
}

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** A hash that no password has; verified where a user has no hash, or does not exist. */
function nobodysHash(): string {
  return `$argon2id$v=19$m=${limits.hashKib},t=${passes},p=${parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
}

function parsePhc(phc: string): (DeriveOptions & { readonly tag: Buffer }) | undefined {
  const match = PHC.exec(phc);
  if (match === null) return undefined;
  const [, m, t, p, salt = '', hash = ''] = match;
  const tag = Buffer.from(hash, 'base64');
  return {
    salt: Buffer.from(salt, 'base64'),
    memoryKib: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    tagBytes: tag.length,
    tag,
  };
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function base64(bytes: Uint8Array): string {
  // Removes the padding.
  return Buffer.from(bytes).toString('base64').replaceAll('=', '');
}
