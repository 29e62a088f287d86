// Randomness comes into the service through here alone (I8).
import { randomBytes, randomUUID } from 'node:crypto';

/** Makes ids and secrets that nobody can guess. */
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
