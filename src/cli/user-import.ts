// `dundun user import FILE.json`: imports accounts with their ids and password hashes. Reads the whole file first and
// reports the result for each user; a refused user does not stop the others. A repeated import creates nothing twice.
import { readFileSync, statSync } from 'node:fs';
import { Refusal } from '../base/refusal.ts';
import type { Json } from '../base/text/json.ts';
import { parseJsonText } from '../base/text/json-text.ts';
import { limits } from '../config/limits.ts';
import { changedProfile, type ProfileChange, profileListFields, profileTextFields } from '../domain/users/profile.ts';
import type { UserDraft, Users } from '../domain/users/users.ts';

interface UserImportOutcome {
  readonly username: string;
  readonly is: 'made' | 'there already' | 'refused';
  readonly note: string;
}

export interface UserImportOptions {
  readonly users: Users;
  readonly dryRun: boolean;
  readonly print: (line: string) => void;
}

/**
 * Imports the users of a file; returns how many were refused.
 * @throws Error when the file is not a list of users.
 */
export async function importUsers(file: string, { users, dryRun, print }: UserImportOptions): Promise<number> {
  const records = readRecords(file);
  const counts = { made: 0, 'there already': 0, refused: 0 };
  const seen = new Set<string>();
  for (const [index, record] of records.entries()) {
    const outcome = await importOne(record, { users, dryRun, seen });
    counts[outcome.is] += 1;
    const word = dryRun && outcome.is === 'made' ? 'would be made' : outcome.is;
    print(`${index + 1}\t${outcome.username}\t${word}${outcome.note === '' ? '' : `\t${outcome.note}`}`);
  }
  const made = dryRun ? 'would be made' : 'made';
  print(
    `${records.length} users: ${counts.made} ${made}, ${counts['there already']} there already, ${counts.refused} refused.`,
  );
  return counts.refused;
}

function readRecords(file: string): readonly Json[] {
  if (statSync(file).size > limits.importBytesMax) {
    throw new Error(`${file} is larger than ${limits.importBytesMax} bytes. Import it in parts.`);
  }
  const records = parseJsonText(readFileSync(file), limits.nestingLevelsMax);
  if (!Array.isArray(records))
    throw new Error(`${file} must hold a JSON array of users, such as [{"username": "awa"}].`);
  return records as readonly Json[];
}

async function importOne(
  record: Json,
  { users, dryRun, seen }: { readonly users: Users; readonly dryRun: boolean; readonly seen: Set<string> },
): Promise<UserImportOutcome> {
  const name = (record as { readonly username?: unknown } | null)?.username;
  const username = typeof name === 'string' ? printable(name) : '?';
  try {
    const draft = toDraft(record);
    const known = await users.findByName(draft.username);
    if (known !== undefined && known.id === draft.id) return { username, is: 'there already', note: '' };
    await users.assertDraft(draft);
    // A dry run stores nothing, so repeated names and ids are detected here.
    for (const unique of [`name ${draft.username}`, ...(draft.id === undefined ? [] : [`id ${draft.id}`])]) {
      if (seen.has(unique)) throw new Refusal('exists', `The ${unique} occurs twice in the file.`);
      seen.add(unique);
    }
    if (!dryRun) await users.create(draft);
    const isLocked = draft.password === undefined && draft.passwordHash === undefined;
    return { username, is: 'made', note: isLocked ? 'without a password: set one before they sign in' : '' };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'storage' || error.code === 'busy') throw error;
    return { username, is: 'refused', note: error.message };
  }
}

function toDraft(record: Json): UserDraft {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    throw new Refusal('malformed', 'A user is a JSON object.');
  }
  const fields = record as { readonly [field: string]: Json };
  const { id, createdTime, admin } = fields;
  const username = textOf(fields, 'username');
  const password = textOf(fields, 'password');
  const passwordHash = textOf(fields, 'passwordHash');
  if (username === undefined) throw new Refusal('malformed', 'A user needs a username.');
  if (password !== undefined && passwordHash !== undefined) {
    throw new Refusal('malformed', 'Give a password or a passwordHash, not both.');
  }
  if (id !== undefined && id !== null && !(typeof id === 'string' && uuid.test(id))) {
    throw new Refusal('malformed', 'The id must be a UUID.');
  }
  if (createdTime !== undefined && createdTime !== null && !isTime(createdTime)) {
    throw new Refusal('malformed', 'createdTime must be whole milliseconds since 1970 UTC.');
  }
  if (admin !== undefined && admin !== null && typeof admin !== 'boolean') {
    throw new Refusal('malformed', 'admin must be true or false.');
  }
  return {
    ...changedProfile({}, toProfile(fields)),
    username,
    password,
    passwordHash,
    admin: admin === true,
    id: typeof id === 'string' ? id.toLowerCase() : undefined,
    createdTime: typeof createdTime === 'number' ? createdTime : undefined,
  };
}

function toProfile(fields: { readonly [field: string]: Json }): ProfileChange {
  const lists = profileListFields.map((field) => {
    const list = fields[field];
    const isList = Array.isArray(list) && list.every((entry: Json) => typeof entry === 'string');
    if (list === undefined || list === null || isList) return [field, list ?? undefined] as const;
    throw new Refusal('malformed', `${field} must be an array of texts.`);
  });
  const texts = [...profileTextFields, 'messages_from'].map((field) => [field, textOf(fields, field)] as const);
  return Object.fromEntries([...texts, ...lists]) as ProfileChange;
}

function textOf(fields: { readonly [field: string]: Json }, field: string): string | undefined {
  const text = fields[field];
  if (text === undefined || text === null) return undefined;
  if (typeof text === 'string') return text;
  throw new Refusal('malformed', `${field} must be a text.`);
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function isTime(value: Json): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 8_640_000_000_000_000;
}

/** Replaces control characters: a name from a file must not move the terminal's cursor. */
function printable(text: string): string {
  return text.slice(0, limits.usernameCharsMax).replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
}
