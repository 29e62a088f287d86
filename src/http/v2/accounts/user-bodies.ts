// Reads the bodies of changes of an account: each field as a bare text, as JSON, or beside the present password.
import type { Static } from 'typebox';
import { Refusal } from '../../../base/refusal.ts';
import type { Json } from '../../../base/text/json.ts';
import { limits } from '../../../config/limits.ts';
import type { AccountChange, NewPassword } from '../../../domain/accounts/accounts.ts';
import type { UserChangeBody } from '../../schemas/account-schemas.ts';
import { assertTextBound, type TextBound, textBounds } from '../../schemas/text-bounds.ts';
import { jsonFieldOf, TextBody, textFieldOf } from '../../server/bodies.ts';

export function toAccountChange(body: Static<typeof UserChangeBody>): AccountChange {
  // Not among the fields of this body: it has a path of its own, and a record that is sent back carries it.
  const { smsCredit: _, ...change } = body as AccountChange;
  if (!Object.hasOwn(body, 'password') && !Object.hasOwn(body, 'passwordHash')) return change;
  throw new Refusal('malformed', 'A password is changed at …/password.', {
    faults: [{ pointer: '/password', detail: 'is changed at …/password' }],
  });
}

/** The bare new value, as an admin sends it; or `{"current", <field>}`. */
function toSecured<F extends string>(
  body: unknown,
  field: F,
  bound: TextBound,
): { current?: string } & Record<F, string> {
  type Secured = { current?: string } & Record<F, string>;
  if (body instanceof TextBody || typeof body === 'string')
    return { [field]: textFieldOf(body, field, bound) } as Secured;
  const { current, [field]: value } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof value !== 'string') throw notText(field);
  assertTextBound(value, `/${field}`, bound);
  if (current === undefined || current === null) return { [field]: value } as Secured;
  if (typeof current !== 'string') throw notText('current');
  assertTextBound(current, '/current', textBounds.password);
  return { current, [field]: value } as Secured;
}

export function toNewPassword(body: unknown): NewPassword {
  return toSecured(body, 'password', textBounds.password);
}

export function toNewEmail(body: unknown): AccountChange {
  return toSecured(body, 'email', textBounds.profileEntry);
}

function notText(field: string): Refusal {
  const detail = `must be a text: send {"current": …, "${field === 'current' ? 'password' : field}": …}, or as an admin the bare new value`;
  return new Refusal('malformed', `/${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}

/** A JSON array of texts; a single text is a list of one, an empty text an empty list. */
export function toList(body: unknown, field: string): readonly string[] {
  const isArrayText = body instanceof TextBody && body.text.trimStart().startsWith('[');
  if (body instanceof TextBody && !isArrayText) return toEntries(textFieldOf(body, field, textBounds.profileEntry));
  const json = jsonFieldOf(body, field, { bytesMax: limits.profileListBytesMax });
  if (typeof json === 'string') return toEntries(json);
  if (json === null) return [];
  if (Array.isArray(json) && json.every((entry: Json) => typeof entry === 'string')) return json as readonly string[];
  const detail = 'must be a JSON array of texts, or one text';
  throw new Refusal('malformed', `/${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}

function toEntries(text: string): readonly string[] {
  return text.trim() === '' ? [] : [text];
}

export function toBoolean(json: Json): boolean {
  if (json === true || json === 'true') return true;
  if (json === false || json === 'false') return false;
  throw new Refusal('malformed', 'admin is true or false.');
}

/** A number of messages, as JSON or as text; null for `null` and an empty text. */
export function toCredit(body: unknown): number | null {
  if (body instanceof TextBody && body.text.trim() === '') return null;
  const json = jsonFieldOf(body, 'sms_credit');
  const credit = typeof json === 'string' && /^\d{1,10}$/.test(json.trim()) ? Number(json) : json;
  if (credit === null || credit === '') return null;
  if (Number.isInteger(credit) && Number(credit) >= 0 && Number(credit) <= limits.smsCreditMax) return Number(credit);
  const detail = `must be a whole number from 0 to ${limits.smsCreditMax}, or null`;
  throw new Refusal('malformed', `/sms_credit ${detail}.`, { faults: [{ pointer: '/sms_credit', detail }] });
}
