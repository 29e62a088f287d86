// Passwords as argon2id hashes in PHC form (contract 2). Hashing is bounded: a few at once, a few waiting, then `busy`.
import { argon2, timingSafeEqual } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';

// OWASP's second recommendation for argon2id: 19 MiB, two passes, one lane; some 30 ms on a small machine.
const memoryKib = 19_456;
const passes = 2;
const parallelism = 1;
const tagBytes = 32;
const saltBytes = 16;

/** What a hash from elsewhere may ask for: 256 MiB, some seconds at most. */
const foreign = { memoryKibMax: 262_144, passesMax: 16, parallelismMax: 16, bytesMax: 64 };

export class Passwords {
  readonly #ids: Ids;
  readonly #lengthMin: number;
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: { readonly ids: Ids; readonly lengthMin: number }) {
    this.#ids = options.ids;
    this.#lengthMin = options.lengthMin;
  }

  /** @throws Refusal `malformed` when the password is too short or too long. */
  assertGood(password: string): void {
    if ([...password].length < this.#lengthMin) {
      throw new Refusal('malformed', `A password needs at least ${this.#lengthMin} characters.`, {
        faults: [{ pointer: '/password', detail: `must have at least ${this.#lengthMin} characters` }],
      });
    }
    if (password.length > limits.passwordCharsMax) {
      throw new Refusal('malformed', `A password may have ${limits.passwordCharsMax} characters.`, {
        faults: [{ pointer: '/password', detail: `must have at most ${limits.passwordCharsMax} characters` }],
      });
    }
  }

  /**
   * A hash that is brought along must be one that can be checked, at a cost that does not stop the service.
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

  /** @returns a PHC string, `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
  async hash(password: string): Promise<string> {
    const salt = this.#ids.bytes(saltBytes);
    const tag = await this.#derive(password, { salt, memoryKib, passes, parallelism, tagBytes });
    return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`;
  }

  /** Compares in constant time. Without a hash it takes as long as with one, so that names cannot be guessed. */
  async verify(password: string, phc: string | undefined): Promise<boolean> {
    const parameters = parsePhc(phc ?? nobodysHash);
    if (parameters === undefined) return false;
    const tag = await this.#derive(password, parameters);
    return timingSafeEqual(tag, parameters.tag) && phc !== undefined;
  }

  async #derive(password: string, options: DeriveOptions): Promise<Buffer> {
    await this.#acquire();
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        const parameters = {
          message: password.normalize('NFC'),
          nonce: options.salt,
          parallelism: options.parallelism,
          tagLength: options.tagBytes,
          memory: options.memoryKib,
          passes: options.passes,
        };
        argon2('argon2id', parameters, (error, tag) => (error === null ? resolve(tag) : reject(error)));
      });
    } finally {
      this.#underWay -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #acquire(): Promise<void> {
    if (this.#underWay >= limits.hashesAtOnceMax) {
      if (this.#waiting.length >= limits.hashesWaitingMax) {
        throw new Refusal('busy', 'Too many sign-ins at once. Try again shortly.', {
          retryAfterS: limits.busyRetryAfterS,
        });
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#underWay += 1;
  }
}

interface DeriveOptions {
  readonly salt: Uint8Array;
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly tagBytes: number;
}

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** The hash of no password anybody has; checked in place of a missing one. */
const nobodysHash = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`;

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
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
