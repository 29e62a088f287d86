// Senders whose attempts are spans: the channel and the outcome, never the recipient or the text.
import type { Tracing } from '../base/tracing.ts';
import type { Sender } from '../domain/notifications/outbox/sender.ts';
import type { Channel } from '../domain/notifications/rules/notification.ts';

export function traceSenders(senders: ReadonlyMap<Channel, Sender>, tracing: Tracing): ReadonlyMap<Channel, Sender> {
  return new Map([...senders].map(([channel, sender]) => [channel, traceSender(sender, tracing)]));
}

function traceSender(sender: Sender, tracing: Tracing): Sender {
  const { channel, perSMax, closedBecause } = sender;
  return {
    channel,
    perSMax,
    ...(closedBecause !== undefined && { closedBecause }),
    send: (message, signal) =>
      tracing.work({ name: `send ${channel}`, kind: 'client' }, () => sender.send(message, signal)),
  };
}
