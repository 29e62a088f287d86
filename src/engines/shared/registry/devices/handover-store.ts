// Handovers of devices in the registry. The shares and keys of a device are read and removed in one transaction.
import { type RawBuilder, sql } from 'kysely';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { ModificationStamp } from '../../../../domain/devices/device-store.ts';
import type { Handover, HandoverOptions, HandoverStore } from '../../../../domain/devices/handover-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { forgetNotesOfDevice } from '../notifications/alarm-handover.ts';
import type { Registry } from '../registry.ts';
import { chargeStatements } from './handover-charges.ts';

export class SqlHandoverStore implements HandoverStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async handOver(stamp: ModificationStamp, owner: UserKey, options: HandoverOptions): Promise<void> {
    const { device, atMs } = stamp;
    const { arrayOf, collected, values } = this.#registry.dialect;
    const share = arrayOf([sql`share.user`, sql`share.scopes`, sql`share.given_by`]);
    const named = values(sql`api_key.devices`, 'text');
    await this.#write([
      sql`DELETE FROM handover WHERE at < ${options.forgetBeforeMs}`,
      ...chargeStatements({ kind: 'device', key: device, receiver: owner, atMs }, options),
      sql`INSERT INTO handover (device, former, receiver, at, shares, keys)
        SELECT device.key, device.owner, ${owner}, ${atMs},
          (SELECT ${collected(share)} FROM share WHERE share.device = device.key),
          (SELECT ${collected(sql`api_key.id`)} FROM api_key WHERE api_key.user = device.owner
            AND EXISTS (SELECT 1 FROM ${named} AS entry WHERE entry.value IN ${idsOf(device)}))
        FROM device WHERE device.key = ${device} AND device.owner <> ${owner}
        ON CONFLICT (device) DO UPDATE SET former = excluded.former, receiver = excluded.receiver, at = excluded.at,
          shares = excluded.shares, keys = excluded.keys`,
      sql`UPDATE api_key SET devices = (SELECT ${collected(sql`entry.value`)} FROM ${named} AS entry
          WHERE entry.value NOT IN ${idsOf(device)})
        WHERE "user" = (SELECT owner FROM device WHERE key = ${device} AND owner <> ${owner})
          AND EXISTS (SELECT 1 FROM ${named} AS entry WHERE entry.value IN ${idsOf(device)})`,
      // A share with the new owner would be without meaning. Nothing is handed over where that is the owner already.
      sql`DELETE FROM share WHERE device = ${device} AND ("user" = ${owner} OR given_by IS DISTINCT FROM ${owner})
        AND EXISTS (SELECT 1 FROM device WHERE key = ${device} AND owner <> ${owner})`,
      // The new owner does not learn who set actuators before, and their gateway is not given what the former one set.
      sql`UPDATE actuator_setting SET "user" = NULL, api_key = NULL, rule = NULL, downlink = 'none' WHERE device = ${device}
        AND EXISTS (SELECT 1 FROM device WHERE key = ${device} AND owner <> ${owner})`,
      ...forgetNotesOfDevice(device, sql`EXISTS (SELECT 1 FROM device WHERE key = ${device} AND owner <> ${owner})`),
      sql`UPDATE device SET owner = ${owner}, date_modified = ${atMs} WHERE key = ${device} AND owner <> ${owner}`,
    ]);
  }

  async listReceived(receiver: UserKey, sinceMs: number): Promise<Handover[]> {
    const rows = this.#handovers().where('handover.receiver', '=', receiver).where('handover.at', '>=', sinceMs);
    return Promise.all(
      (await rows.orderBy('handover.at', 'desc').orderBy('device.key').execute()).map((row) => this.#toHandover(row)),
    );
  }

  async find(device: DeviceKey): Promise<Handover | undefined> {
    const row = await this.#handovers().where('handover.device', '=', device).executeTakeFirst();
    return row && this.#toHandover(row);
  }

  async keepShares({ deviceKey, receiver }: Handover): Promise<void> {
    await this.#write([
      this.#putShares(deviceKey, { owner: receiver, givenBy: sql`${receiver}` }),
      sql`DELETE FROM handover WHERE device = ${deviceKey}`,
    ]);
  }

  async giveBack({ device, atMs }: ModificationStamp, former: UserKey): Promise<boolean> {
    const { appended, values } = this.#registry.dialect;
    const keys = values(sql`(SELECT handover.keys FROM handover WHERE handover.device = ${device})`, 'text');
    const isOpen = sql`EXISTS (SELECT 1 FROM handover WHERE device = ${device} AND former = ${former})`;
    const changes = await this.#write([
      sql`DELETE FROM share WHERE device = ${device} AND ${isOpen}`,
      this.#putShares(device, { owner: former, givenBy: sql`(SELECT key FROM "user" WHERE key = entry.giver)` }),
      sql`UPDATE api_key SET devices = ${appended(sql`devices`, idOf(device))}
        WHERE "user" = ${former} AND devices IS NOT NULL AND id IN ${keys}`,
      sql`UPDATE actuator_setting SET "user" = NULL, api_key = NULL, rule = NULL, downlink = 'none' WHERE device = ${device}
        AND ${isOpen}`,
      ...forgetNotesOfDevice(device, isOpen),
      sql`UPDATE device SET owner = ${former}, date_modified = ${atMs} WHERE key = ${device} AND ${isOpen}`,
      sql`DELETE FROM handover WHERE device = ${device} AND former = ${former}`,
    ]);
    return changes.at(-1) === 1;
  }

  /** Restores the remembered shares with users who still exist; shares given since then stay. */
  #putShares(
    device: DeviceKey,
    { owner, givenBy }: { readonly owner: UserKey; readonly givenBy: RawBuilder<unknown> },
  ) {
    const remembered = sql`(SELECT handover.shares FROM handover WHERE handover.device = ${device})`;
    const columns = { holder: 'integer', scopes: 'integer', giver: 'integer' } as const;
    return sql`INSERT INTO share (device, "user", scopes, given_by)
      SELECT ${device}, entry.holder, entry.scopes, ${givenBy} FROM ${this.#registry.dialect.rows(remembered, columns)} AS entry
      WHERE entry.holder IN (SELECT key FROM "user") AND entry.holder <> ${owner}
      ON CONFLICT (device, "user") DO NOTHING`;
  }

  #handovers() {
    return this.#db
      .selectFrom('handover')
      .innerJoin('device', 'device.key', 'handover.device')
      .leftJoin('user', 'user.key', 'handover.former')
      .select(['device.key as deviceKey', 'device.id as device', 'device.name as deviceName'])
      .select(['handover.former', 'user.username', 'handover.receiver', 'handover.at as atMs', 'handover.shares']);
  }

  async #toHandover(row: Row): Promise<Handover> {
    const shares = JSON.parse(row.shares) as readonly (readonly [number, number, number | null])[];
    const users = this.#db.selectFrom('user').select(['key', 'username']);
    const names = new Map(
      (shares.length === 0
        ? []
        : await users
            .where(
              'key',
              'in',
              shares.map(([key]) => key),
            )
            .execute()
      ).map(({ key, username }) => [key, username]),
    );
    const { device, deviceKey, deviceName, former, username, receiver, atMs } = row;
    return {
      ...{ device, deviceKey, receiver, atMs },
      ...(deviceName === null ? {} : { deviceName }),
      ...(former === null || username === null ? {} : { former: { key: former, username } }),
      shares: shares.flatMap(([key, scopes]) => {
        const name = names.get(key);
        return name === undefined ? [] : [{ username: name, scopes }];
      }),
    };
  }

  async #write(statements: readonly RawBuilder<unknown>[]): Promise<readonly number[]> {
    return this.#registry.write(statements.map((statement) => ({ compile: () => statement.compile(this.#db) })));
  }

  get #db() {
    return this.#registry.read;
  }
}

interface Row {
  readonly device: string;
  readonly deviceKey: number;
  readonly deviceName: string | null;
  readonly former: number | null;
  readonly username: string | null;
  readonly receiver: number;
  readonly atMs: number;
  readonly shares: string;
}

/** The ids by which keys may name the device. */
function idsOf(device: DeviceKey) {
  return sql`(SELECT id FROM device WHERE key = ${device} UNION ALL SELECT id FROM former_device_id WHERE device = ${device})`;
}

function idOf(device: DeviceKey) {
  return sql`(SELECT id FROM device WHERE key = ${device})`;
}
