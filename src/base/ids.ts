// The only source of randomness of the service (I8).
import { randomBytes, randomUUID } from 'node:crypto';

/** Generates ids and secrets that cannot be guessed. */
export interface Ids {
  /** A random UUID (version 4). */
  uuid(): string;
  /** `bytes` random bytes. */
  bytes(bytes: number): Uint8Array;
}

export const randomIds: Ids = {
  uuid: () => randomUUID(),
  bytes: (count) => new Uint8Array(randomBytes(count)),
};
