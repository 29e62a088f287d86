// Stands where a channel has no provider: says what an operator would have to set, and sends nothing.

import type { Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import type { Channel } from '../domain/notifications/rules/notification.ts';

export class UnconfiguredSender implements Sender {
  readonly channel: Channel;
  readonly perSMax = 1_000;
  readonly closedBecause: string;

  /** `missing` names the settings that would bring the channel to life. */
  constructor(channel: Channel, missing: string) {
    this.channel = channel;
    this.closedBecause = `no provider is set up for ${channel} (${missing})`;
  }

  async send(): Promise<SendOutcome> {
    return { kind: 'undelivered', reason: this.closedBecause };
  }
}
