// The keys that webhook messages are signed with, one a user, all made from one secret of the service: whoever can check
// the messages to them can forge none to others. A user reads their own in their profile.
import { createHmac } from 'node:crypto';

export class WebhookKeys {
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  bytesOf(username: string): Uint8Array {
    return createHmac('sha256', this.#secret).update(`webhook:${username}`).digest();
  }

  /** The key as text, in the form that libraries of Standard Webhooks read. */
  textOf(username: string): string {
    return `whsec_${Buffer.from(this.bytesOf(username)).toString('base64')}`;
  }
}
