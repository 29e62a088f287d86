// The store of secrets that the service makes for itself, such as the key that signs tokens. Engines implement it.
import type { RotatedSecret } from '../../base/rotated-secret.ts';

export interface SecretStore {
  /** The secret of that name. If there is none, stores the one that `make` returns. */
  getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array>;
  /** The secret of that name, and the former one. @throws Error where there is none. */
  getRotated(name: string): Promise<RotatedSecret>;
  /**
   * Replaces the secret in one commit. The replaced secret stays valid until `formerGoodUntilMs`; an earlier former
   * one is forgotten.
   */
  rotate(name: string, value: Uint8Array, formerGoodUntilMs: number): Promise<void>;
}
