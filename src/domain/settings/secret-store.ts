// Secrets that the service makes for itself and keeps with its data, such as the key that signs tokens.
import type { RotatedSecret } from '../../base/rotated-secret.ts';

export interface SecretStore {
  /** The secret of that name; made by `make` and kept when there is none. */
  getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array>;
  /** The secret of that name, and the one before. @throws where there is none. */
  getRotated(name: string): Promise<RotatedSecret>;
  /**
   * Replaces the secret in one commit. The one it replaces is good until then beside the new one; a secret that was
   * former already is forgotten.
   */
  rotate(name: string, value: Uint8Array, formerGoodUntilMs: number): Promise<void>;
}
