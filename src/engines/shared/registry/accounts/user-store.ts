// Users in the registry.
import type { Selectable } from 'kysely';
import { type SqlBool, sql } from 'kysely';
import { Refusal } from '../../../../base/refusal.ts';
import type { User, UserKey, UserProfile } from '../../../../domain/users/user.ts';
import type { NewUser, UserQuery, UserStore, UserUpdate } from '../../../../domain/users/user-store.ts';
import { foldName, likenessOf } from '../../../../domain/users/username.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import type { UserTable } from '../tables.ts';
import { removalOfKeys } from './key-store.ts';

export class SqlUserStore implements UserStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async findByKey(key: UserKey): Promise<User | undefined> {
    return toUser(await this.#users().where('key', '=', key).executeTakeFirst());
  }

  async findById(id: string): Promise<User | undefined> {
    return toUser(await this.#users().where('id', '=', id).executeTakeFirst());
  }

  async findByName(username: string): Promise<User | undefined> {
    return toUser(await this.#users().where('username', '=', username).executeTakeFirst());
  }

  async hasLookalike(username: string): Promise<boolean> {
    return (await this.#users().where(likeCondition(username)).limit(1).executeTakeFirst()) !== undefined;
  }

  async listByConfirmedEmail(email: string, limit: number): Promise<User[]> {
    // `lower` folds ASCII alone in SQLite, and more in other engines: so does nothing that is compared with it.
    const folded = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    const rows = this.#users().where(sql<SqlBool>`lower(email_confirmed) = ${folded}`);
    return (await rows.orderBy('key').limit(limit).execute()).flatMap((row) => toUser(row) ?? []);
  }

  async list({ username, limit, offset, after }: UserQuery): Promise<User[]> {
    const isBehind = after === undefined ? sql<SqlBool>`1 = 1` : sql<SqlBool>`username > ${after.username}`;
    const named = this.#users().where(nameCondition(username)).where(isBehind);
    const page = named.orderBy('username').limit(limit).offset(offset);
    const rows = await this.#registry.search(page, admins);
    return rows.flatMap((row) => toUser(row) ?? []);
  }

  async count({ username }: Pick<UserQuery, 'username'>): Promise<number> {
    return this.#count(nameCondition(username));
  }

  async countAdmins(): Promise<number> {
    return this.#count(sql<SqlBool>`admin = 1 AND password_hash IS NOT NULL`);
  }

  async create(user: NewUser, { unlikeOthers = false } = {}): Promise<void> {
    const { id, username, admin, createdTime, passwordHash, passwordVersion = 1, ...profile } = user;
    const likeness = likenessOf(username);
    const row = this.#db.selectNoFrom([
      sql.val(id).as('id'),
      sql.val(username).as('username'),
      sql.val(foldName(username)).as('folded'),
      sql.val(likeness.folded).as('skeleton'),
      sql.val(likeness.shown).as('skeleton_shown'),
      sql.val(JSON.stringify(profile)).as('profile'),
      sql.val(admin ? 1 : 0).as('admin'),
      sql.val(createdTime).as('created_time'),
      sql.val(passwordHash ?? null).as('password_hash'),
      sql.val(passwordVersion).as('password_version'),
    ]);
    const columns = [
      ...(['id', 'username', 'folded', 'skeleton', 'skeleton_shown', 'profile', 'admin', 'created_time'] as const),
      ...(['password_hash', 'password_version'] as const),
    ];
    // Checked in the insert itself, so that two look-alikes cannot register at the same time.
    const alike = this.#users().clearSelect().select('user.key').where(likeCondition(username));
    const isUnlike = sql<SqlBool>`NOT EXISTS ${alike}`;
    const insert = this.#db.insertInto('user').columns(columns);
    const [inserted] = await this.#registry.write([insert.expression(unlikeOthers ? row.where(isUnlike) : row)]);
    if (inserted === 0) throw new Refusal('exists', `There is a user whose name looks like ${username}.`);
  }

  async update(key: UserKey, { profile, admin, smsCredit }: UserUpdate): Promise<void> {
    const email = profile.email ?? '';
    // Another address is not confirmed, and links that were sent to the one before end.
    const confirmed = sql<string | null>`CASE WHEN email_confirmed = ${email} THEN email_confirmed END`;
    const columns = {
      profile: JSON.stringify(profile),
      admin: admin ? 1 : 0,
      sms_credit: smsCredit ?? null,
      email_confirmed: confirmed,
    };
    const change = this.#db.updateTable('user').set(columns).where('key', '=', key);
    const links = this.#db.deleteFrom('account_link').where('user', '=', key).where('email', '<>', email);
    const [changed] = await this.#registry.write([admin ? change : change.where(isNotLastAdmin(key)), links]);
    if (changed === 0 && !admin) await this.#refuseLastAdmin(key);
  }

  async setPassword(key: UserKey, passwordHash: string, { endKeys }: { readonly endKeys: boolean }): Promise<void> {
    await this.#registry.write([
      this.#db
        .updateTable('user')
        .set({ password_hash: passwordHash, password_version: sql`password_version + 1` })
        .where('key', '=', key),
      this.#db.deleteFrom('refresh_session').where('user', '=', key),
      this.#db.deleteFrom('account_link').where('user', '=', key).where('purpose', '=', 'reset'),
      ...(endKeys ? removalOfKeys(this.#db, key) : []),
    ]);
  }

  async rotateWebhookKey(key: UserKey, atMs: number): Promise<void> {
    const columns = { webhook_version: sql<number>`webhook_version + 1`, webhook_rotated: atMs };
    await this.#registry.write([this.#db.updateTable('user').set(columns).where('key', '=', key)]);
  }

  async listGateways(key: UserKey, limit: number): Promise<string[]> {
    const rows = this.#db.selectFrom('gateway').select('id').where('owner', '=', key);
    return (await rows.orderBy('key').limit(limit).execute()).map(({ id }) => id);
  }

  async remove(
    key: UserKey,
    { newOwner, atMs }: { readonly newOwner: UserKey | undefined; readonly atMs: number },
  ): Promise<void> {
    // Each statement has the condition, so that for the last admin none of them changes anything.
    const isRemovable = isNotLastAdmin(key);
    const inherited =
      newOwner === undefined
        ? (['gateway', 'project'] as const).map((table) =>
            this.#db.deleteFrom(table).where('owner', '=', key).where(isRemovable),
          )
        : [
            // Handing over ends the shares. Of what is removed they go with it.
            ...(['gateway', 'project'] as const).map((table) =>
              this.#db
                .deleteFrom(`${table}_share`)
                .where('record', 'in', this.#db.selectFrom(table).select(`${table}.key`).where('owner', '=', key))
                .where(isRemovable),
            ),
            // What was written to their alarms was not for the new owner.
            this.#db
              .updateTable('alarm')
              .set({ acknowledged: null, acknowledged_by: null, note: null, snoozed: null })
              .where('gateway', 'in', this.#db.selectFrom('gateway').select('gateway.key').where('owner', '=', key))
              .where(isRemovable),
            this.#db
              .updateTable('gateway')
              .set({ owner: newOwner, date_modified: atMs })
              .where('owner', '=', key)
              .where(isRemovable),
            this.#db.updateTable('project').set({ owner: newOwner }).where('owner', '=', key).where(isRemovable),
          ];
    const removed = await this.#registry.write([
      ...inherited,
      ...(['share', 'gateway_share', 'project_share'] as const).map((table) =>
        this.#db.deleteFrom(table).where('user', '=', key).where(isRemovable),
      ),
      this.#db.deleteFrom('handover').where('receiver', '=', key).where(isRemovable),
      this.#db.updateTable('handover').set({ former: null }).where('former', '=', key).where(isRemovable),
      ...removalOfKeys(this.#db, key).map((statement) => statement.where(isRemovable)),
      this.#db.deleteFrom('refresh_session').where('user', '=', key).where(isRemovable),
      this.#db.deleteFrom('account_link').where('user', '=', key).where(isRemovable),
      this.#db.deleteFrom('user').where('key', '=', key).where(isRemovable),
    ]);
    if (removed.at(-1) === 0) await this.#refuseLastAdmin(key);
  }

  /** Called where a conditional statement has changed nothing: the user is the last admin, or there is no such user. */
  async #refuseLastAdmin(key: UserKey): Promise<void> {
    const user = await this.findByKey(key);
    if (user !== undefined)
      throw new Refusal('conflict', `${user.username} is the last admin. Make another one first.`);
  }

  get #db() {
    return this.#registry.read;
  }

  #users() {
    return this.#db.selectFrom('user').selectAll();
  }

  async #count(condition: ReturnType<typeof nameCondition>): Promise<number> {
    const counted = this.#db.selectFrom('user').select(sql<number>`count(*)`.as('count')).where(condition); // biome-ignore format: one line
    const [row] = await this.#registry.search(counted, admins);
    return row?.count ?? 0;
  }
}

/** A condition, checked in the statement itself, so that two of the last admins cannot go at the same time. */
function isNotLastAdmin(key: UserKey) {
  const admins = sql`SELECT 1 FROM ${sql.table('user')} AS known WHERE known.admin = 1 AND known.password_hash IS NOT NULL`;
  return sql<SqlBool>`(EXISTS (${admins} AND known.key <> ${key}) OR NOT EXISTS (${admins} AND known.key = ${key}))`;
}

/** A condition for the names that look like this one. */
function likeCondition(username: string) {
  const { folded, shown } = likenessOf(username);
  return sql<SqlBool>`("user".skeleton = ${folded} OR "user".skeleton_shown = ${shown})`;
}

/** Only admins list users. */
const admins = { caller: 'admins' };

/** A condition for the names that contain this text, regardless of case. */
function nameCondition(part: string | undefined) {
  if (part === undefined || part === '') return withinTime('user');
  // A LIKE pattern would end at a NUL, which no name contains.
  if (part.includes('\0')) return sql<SqlBool>`1 = 0`;
  const pattern = `%${foldName(part).replace(/[\\%_]/g, '\\$&')}%`;
  return sql<SqlBool>`${withinTime('user')} AND folded LIKE ${pattern} ESCAPE '\\'`;
}

function toUser(row: Selectable<UserTable> | undefined): User | undefined {
  if (row === undefined) return undefined;
  return {
    ...(JSON.parse(row.profile) as UserProfile),
    key: row.key,
    id: row.id,
    username: row.username,
    admin: row.admin === 1,
    createdTime: row.created_time,
    ...(row.password_hash === null ? {} : { passwordHash: row.password_hash }),
    passwordVersion: row.password_version,
    webhookVersion: row.webhook_version,
    ...(row.sms_credit === null ? {} : { smsCredit: row.sms_credit }),
    ...(row.webhook_rotated === null ? {} : { webhookRotatedMs: row.webhook_rotated }),
    ...(row.email_confirmed === null ? {} : { confirmedEmail: row.email_confirmed }),
  };
}
