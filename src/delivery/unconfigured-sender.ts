// The sender of a channel without a provider: sends nothing, and names the missing settings.

import type { Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import type { Channel } from '../domain/notifications/rules/notification.ts';

export class UnconfiguredSender implements Sender {
  readonly channel: Channel;
  readonly perSMax = 1_000;
  readonly closedBecause: string;

  /** @param missing the settings that would enable the channel. */
  constructor(channel: Channel, missing: string) {
    this.channel = channel;
    this.closedBecause = `no provider is set up for ${channel} (${missing})`;
  }

  async send(): Promise<SendOutcome> {
    return { kind: 'undelivered', reason: this.closedBecause };
  }
}
