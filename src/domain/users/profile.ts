// The fields of a profile (spec 2.6): checks of their values, and how a change is applied.

import { Refusal } from '../../base/refusal.ts';
import { isStorableText } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';
import { parsePhone } from './phone.ts';
import { messagesFrom, type UserProfile } from './user.ts';
import { parseWebhookAddress } from './webhook-address.ts';

export const profileTextFields = ['firstName', 'lastName', 'email'] as const;
export const profileListFields = ['phone', 'address', 'facebook', 'twitter', 'telegram', 'webhook'] as const;

type TextField = (typeof profileTextFields)[number];
type ListField = (typeof profileListFields)[number];

/** New values of some fields; an empty text or list removes the field. */
export type ProfileChange = { readonly [F in TextField]?: string | undefined } & {
  readonly [F in ListField]?: readonly string[] | undefined;
} & {
  readonly messages_from?: string | undefined;
};

/**
 * The profile with the change applied, in the order of spec.md.
 * @throws Refusal `malformed` where a value is too long or has control characters.
 */
export function changedProfile(profile: UserProfile, change: ProfileChange): UserProfile {
  const changed: Record<string, string | readonly string[]> = {};
  for (const field of profileTextFields) {
    const text = change[field];
    const value = text === undefined ? profile[field] : checked(text, `/${field}`);
    if (value !== undefined && value !== '') changed[field] = value;
  }
  for (const field of profileListFields) {
    const list = change[field];
    const value = list === undefined ? profile[field] : checkedList(field, list);
    if (value !== undefined && value.length > 0) changed[field] = value;
  }
  const wanted = change.messages_from ?? profile.messages_from ?? '';
  if (wanted !== '') changed['messages_from'] = oneOfMessagesFrom(wanted);
  return changed;
}

function oneOfMessagesFrom(text: string): string {
  const known = messagesFrom.find((name) => name === text);
  return known ?? fault('/messages_from', `must be one of ${messagesFrom.join(', ')}`);
}

function checkedList(field: ListField, list: readonly string[]): readonly string[] {
  if (list.length > limits.profileEntriesMax)
    fault(`/${field}`, `must have at most ${limits.profileEntriesMax} entries`);
  return list.map((text, index) => {
    const value = checked(text, `/${field}/${index}`, { mayBreak: field === 'address' });
    if (value === '') fault(`/${field}/${index}`, 'must not be empty');
    return entryOf(field, value) ?? fault(`/${field}/${index}`, right[field] ?? 'is not right');
  });
}

/** The entry in its stored form; undefined where it is invalid. */
function entryOf(field: ListField, value: string): string | undefined {
  switch (field) {
    case 'phone':
      return parsePhone(value);
    case 'twitter':
      // Account ids are stored without the @ that people write before them.
      return value.replace(/^@(?=.)/, '');
    case 'telegram':
      return telegramChat.test(value) ? value : undefined;
    case 'webhook':
      return parseWebhookAddress(value)?.href;
    default:
      return value;
  }
}

/** A chat id, or the name of a channel. */
const telegramChat = /^(-?[1-9]\d{0,18}|@[A-Za-z]\w{3,31})$/;

const right: { readonly [F in ListField]?: string } = {
  phone: 'must be a phone number with country code, such as +221770000000',
  telegram: 'must be the number of a chat with the bot, or the @name of a channel',
  webhook: 'must be an http or https address without a name and password in it',
};

/**
 * Checks a text and removes spaces around it. Control characters are refused: the text is sent to providers, where
 * line breaks could inject headers.
 */
function checked(text: string, pointer: string, { mayBreak = false } = {}): string {
  if (text.length > limits.profileTextCharsMax)
    fault(pointer, `must have at most ${limits.profileTextCharsMax} characters`);
  const lines = mayBreak ? text.replace(/\r?\n/g, ' ') : text;
  if (/\p{Cc}/u.test(lines) || !isStorableText(text)) fault(pointer, 'must not hold control characters');
  return text.trim();
}

function fault(pointer: string, detail: string): never {
  throw new Refusal('malformed', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}
