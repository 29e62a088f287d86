// What of the notifications stands in addresses: the list or the outbox, which messages of it; and for a new one the
// device and sensor that it is about.

export const messageStates = ['queued', 'sent', 'failed', 'undelivered'] as const;
export type MessageState = (typeof messageStates)[number];

/** What of the rules may be asked for: those that hold now, whose messages do not arrive, that are paused. */
export const ruleStates = ['holding', 'failing', 'paused'] as const;
export type RuleStateAsked = (typeof ruleStates)[number];

export interface NotificationsSearch {
  readonly view?: 'outbox' | undefined;
  readonly find?: string | undefined;
  readonly only?: RuleStateAsked | undefined;
  readonly status?: MessageState | undefined;
  /** Messages of one notification. */
  readonly of?: string | undefined;
}

export function parseNotificationsSearch(raw: Record<string, unknown>): NotificationsSearch {
  return {
    view: raw['view'] === 'outbox' ? 'outbox' : undefined,
    find: textOf(raw['find']),
    only: ruleStates.find((state) => state === raw['only']),
    status: messageStates.find((state) => state === raw['status']),
    of: textOf(raw['of']),
  };
}

export interface NewNotificationSearch {
  readonly device?: string | undefined;
  readonly sensor?: string | undefined;
}

export function parseNewNotificationSearch(raw: Record<string, unknown>): NewNotificationSearch {
  return { device: textOf(raw['device']), sensor: textOf(raw['sensor']) };
}

/** A text that looks like a number comes as one. */
function textOf(raw: unknown): string | undefined {
  const text = typeof raw === 'string' || typeof raw === 'number' ? String(raw) : '';
  return text === '' ? undefined : text;
}
