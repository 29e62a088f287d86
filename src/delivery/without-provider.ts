// Stands where a channel has no provider: says what an operator would have to set, and sends nothing.
import type { Channel } from '../domain/notifications/notification.ts';
import type { Delivery, Sender } from '../domain/notifications/sender.ts';

export class WithoutProvider implements Sender {
  readonly channel: Channel;
  readonly perSMax = 1_000;
  readonly #missing: string;

  /** `missing` names the settings that would bring the channel to life. */
  constructor(channel: Channel, missing: string) {
    this.channel = channel;
    this.#missing = missing;
  }

  async send(): Promise<Delivery> {
    return { kind: 'undelivered', reason: `no provider is set up for ${this.channel} (${this.#missing})` };
  }
}
