// The counters of quotas equal a recount after any changes of records in any order: created, changed, handed over,
// removed, also where a unit of writes is rolled back in the middle. The recount is the one of `dundun check`.
import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Compilable, Kysely } from 'kysely';
import { NodeSqliteDialect } from '../../src/engines/embedded/database/dialect.ts';
import { migratedInMemory } from '../../src/engines/embedded/database/migrate.ts';
import { sqliteDialect } from '../../src/engines/embedded/database/sql-dialect.ts';
import { SqlKeyStore } from '../../src/engines/shared/registry/accounts/key-store.ts';
import { countedUsage, registryKinds } from '../../src/engines/shared/registry/accounts/usage-count.ts';
import { SqlUserStore } from '../../src/engines/shared/registry/accounts/user-store.ts';
import { SqlDeviceStore } from '../../src/engines/shared/registry/devices/device-store.ts';
import { SqlFormerIdStore } from '../../src/engines/shared/registry/devices/former-id-store.ts';
import { SqlGatewayStore } from '../../src/engines/shared/registry/devices/gateway-store.ts';
import { SqlHandoverStore } from '../../src/engines/shared/registry/devices/handover-store.ts';
import { SqlProjectStore } from '../../src/engines/shared/registry/devices/project-store.ts';
import { SqlNotificationStore } from '../../src/engines/shared/registry/notifications/notification-store.ts';
import type { Registry } from '../../src/engines/shared/registry/registry.ts';
import type { Tables } from '../../src/engines/shared/registry/tables.ts';
import { properties } from '../support/properties.ts';

class Broken extends Error {}

/** A registry in memory, whose next unit may be made to break off before its last statement. */
class BreakableRegistry {
  readonly database: DatabaseSync;
  readonly registry: Registry;
  breaksOff = false;

  constructor(database: DatabaseSync) {
    this.database = database;
    database.exec('PRAGMA foreign_keys = ON');
    const read = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) });
    this.registry = {
      dialect: sqliteDialect,
      read,
      search: async (query) => (await read.executeQuery(query.compile())).rows,
      write: async (queries) => this.#write(queries),
    };
  }

  #write(queries: readonly Compilable[]): number[] {
    this.database.exec('BEGIN');
    try {
      const changes = queries.map((query, index) => {
        if (this.breaksOff && index === queries.length - 1) throw new Broken();
        const { sql, parameters } = query.compile();
        return Number(this.database.prepare(sql).run(...(parameters as never[])).changes);
      });
      this.database.exec('COMMIT');
      return changes;
    } catch (error) {
      this.database.exec('ROLLBACK');
      throw error;
    }
  }
}

const kinds = [
  ...['device', 'sensor', 'actuator', 'meta', 'move', 'unsensor', 'owner', 'undevice', 'describe', 'rename'],
  ...['gateway', 'gatewayName', 'gatewayOwner', 'project', 'projectIds', 'key', 'unkey', 'rule', 'unrule', 'leave'],
] as const;

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(...kinds),
    which: fc.integer({ min: 0, max: 2 }),
    user: fc.integer({ min: 0, max: 1 }),
    text: fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => !text.includes('\0')),
    breaksOff: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  }),
  { maxLength: 40 },
);

test('counters equal a recount after any changes, and after units that broke off', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const place = new BreakableRegistry(await migratedInMemory());
      const { registry, database } = place;
      const users = new SqlUserStore(registry);
      for (const name of ['a', 'b', 'newOwner']) {
        await users.create({ id: name, username: name, admin: false, createdTime: 0 });
      }
      for (const step of all) {
        place.breaksOff = step.breaksOff;
        try {
          await take(registry, users, step);
        } catch (error) {
          const isExpected = error instanceof Broken || /constraint failed|^exists$/.test((error as Error).message);
          if (!isExpected) throw error;
        }
        const columns = registryKinds.join(', ');
        const counted = database.prepare(`SELECT user, ${columns} FROM (${countedUsage.select}) ORDER BY user`).all();
        assert.deepEqual(
          database.prepare(`SELECT user, ${columns} FROM usage ORDER BY user`).all(),
          counted,
          step.kind,
        );
      }
      database.close();
    }),
    { ...properties({ factor: 0.3 }) },
  );
});

interface Step {
  readonly kind: (typeof kinds)[number];
  readonly which: number;
  readonly user: number;
  readonly text: string;
}

async function take(registry: Registry, users: SqlUserStore, { kind, which, user, text }: Step): Promise<void> {
  const devices = new SqlDeviceStore(registry);
  const gateways = new SqlGatewayStore(registry);
  const projects = new SqlProjectStore(registry);
  const keys = new SqlKeyStore(registry);
  const rules = new SqlNotificationStore(registry);
  const owner = (await users.findByName(user === 0 ? 'a' : 'b'))?.key ?? 3;
  const device = await devices.find(`d${which}`);
  const gateway = await gateways.find(`g${which}`);
  const sensor = device?.sensors.get('s0');
  const mark = { device: device?.key ?? 0, atMs: 1 };
  const sensorDraft = { id: `s${which}`, kindName: 'sensing_device' as const, name: text, meta: { text } };
  const rule = { condition: { text }, action: {}, status: 'active' as const, throttlingS: 0 };
  const watched = { afterSeq: 0, sinceMs: 0 };
  const ruleId = `${which}`.padStart(24, '0');
  switch (kind) {
    case 'device': {
      const draft = { id: `d${which}`, visibility: 'public' as const, name: text, meta: text };
      return devices.create({ ...draft, sensors: [{ ...sensorDraft, id: 's0' }], actuators: [{ id: 'a0' }] }, owner, {
        atMs: 0,
        ageMs: 0,
      });
    }
    case 'sensor':
      return device && devices.putSensor(mark, sensorDraft);
    case 'actuator':
      return device && void (await devices.putActuator(mark, { id: `a${which}`, name: text, valueJson: '1' }));
    case 'meta':
      return device && void (await devices.update(mark, { meta: which === 0 ? undefined : { text }, name: text }));
    case 'describe':
      return sensor && devices.updateSensor(mark, sensor.key, { unit: text, meta: null });
    case 'rename': {
      const names = { device: mark.device, from: device?.id ?? '', to: `d${user}`, owner: device?.ownerKey ?? -1 };
      const prepared = await new SqlFormerIdStore(registry).prepareRename(names, { caller: '' });
      return device && void (await prepared?.store({ atMs: 0, ageMs: 0, untilMs: which }));
    }
    case 'unsensor':
      return sensor && devices.removeSensor(mark, sensor.key);
    case 'move': {
      const target = await devices.find(`d${(which + 1) % 3}`);
      const moved = device?.sensors.get(`s${user}`);
      return moved && target && void (await devices.moveSensor(mark, moved.key, target.key));
    }
    case 'owner':
      return device && new SqlHandoverStore(registry).handOver(mark, owner, { forgetBeforeMs: 0 });
    case 'undevice':
      return device && devices.remove(device.key);
    case 'gateway':
      return gateways.create({ id: `g${which}`, visibility: 'public', name: text }, owner, 0);
    case 'gatewayName':
      return gateway && gateways.update(gateway.key, { name: text, location: { text } }, 1);
    case 'gatewayOwner':
      return gateway && void (await gateways.setOwner(gateway.key, owner, 1));
    case 'project':
      return projects.create({ id: `p${which}`, name: text, deviceIds: [text], gatewayIds: [] }, owner);
    case 'projectIds': {
      const project = await projects.find(`p${which}`);
      return project && void (await projects.update(project.key, { deviceIds: [text, text] }));
    }
    case 'key': {
      const fields = {
        scopes: undefined,
        devices: [text],
        dateCreatedMs: 0,
        expiresMs: undefined,
        lastUsedMs: undefined,
      };
      return keys.create({ id: `k${which}`, owner, name: text, ...fields }, { hash: `${which}` });
    }
    case 'unkey':
      return keys.remove(`k${which}`);
    case 'rule':
      if ((await rules.find(ruleId)) === undefined) return rules.create(ruleId, owner, rule, watched);
      return rules.update(
        ruleId,
        { description: text, condition: { text, more: text } },
        { ...watched, resetsState: true },
      );
    case 'unrule':
      return rules.remove(ruleId);
    case 'leave':
      return users.remove(owner, { newOwner: which === 0 ? 3 : undefined, atMs: 1 });
  }
}
