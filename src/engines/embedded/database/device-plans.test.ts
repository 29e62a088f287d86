// Query plans of device lists: a page is found in a covering index for every caller, so that no page reads the rows of
// 100 000 devices.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CompiledQuery, Kysely } from 'kysely';
import type { DeviceListQuery } from '../../../domain/devices/device-store.ts';
import { parseFilter } from '../../../domain/devices/filter.ts';
import type { Audience } from '../../../domain/permissions/permission.ts';
import { scope } from '../../../domain/scopes.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { SqlDeviceStore } from '../../shared/registry/devices/device-store.ts';
import type { Tables } from '../../shared/registry/tables.ts';
import { NodeSqliteDialect } from './dialect.ts';
import { migratedInMemory } from './migrate.ts';
import { sqliteDialect } from './sql-dialect.ts';

suite('a page of devices', () => {
  const asked: CompiledQuery[] = [];
  let plansOf: (query: Partial<DeviceListQuery>) => Promise<string[]>;
  let close: () => void;

  before(async () => {
    const database = await migratedInMemory();
    database.function('device_last_seen', (_device) => 0);
    const read = new Kysely<Tables>({
      dialect: new NodeSqliteDialect(database),
      log: ({ query }) => {
        asked.push(query);
      },
    });
    const store = new SqlDeviceStore({
      dialect: sqliteDialect,
      read,
      search: async (query) => (await read.executeQuery(query.compile())).rows,
      write: () => Promise.reject(new Error('nothing is written')),
    });
    plansOf = async (query) => {
      asked.length = 0;
      const whole: DeviceListQuery = { audience: { all: true }, filter: [], limit: 20, offset: 0, ...query };
      await store.count(whole);
      await store.listByKeys(await store.listKeys(whole));
      return asked.map(({ sql, parameters }) => {
        const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(parameters as []));
        return steps.map(({ detail }) => String(detail)).join('\n');
      });
    };
    close = () => database.close();
  });
  after(() => close());

  const user = 7 as UserKey;
  const audiences: Readonly<Record<string, Audience>> = {
    guest: { all: false, public: true, user: 1 as UserKey, shared: scope.view },
    'an owner or sharer': { all: false, public: true, user, shared: scope.view },
    admin: { all: true },
  };
  for (const [who, audience] of Object.entries(audiences)) {
    test(`by name is read off the index of names, and a search looks at that alone, for ${who}`, async () => {
      for (const search of [{}, { text: 'field' }]) {
        for (const order of ['name', '-name'] as const) {
          const [count = '', list = ''] = await plansOf({ audience, order, search });
          assert.match(count, /SCAN device USING COVERING INDEX/);
          assert.match(list, /SCAN device USING COVERING INDEX device_name/);
          // No temporary B-tree: the index gives the order.
          assert.doesNotMatch(list, /TEMP B-TREE/);
        }
      }
    });

    test(`by when they were heard, or silent since, reads no rows but those of the page, for ${who}`, async () => {
      for (const order of ['heard', '-heard', 'created'] as const) {
        for (const q of ['', 'date_modified<2026-01-15T12:00:00Z']) {
          for (const plan of await plansOf({ audience, order, filter: parseFilter(q) }))
            assert.match(plan, /SCAN device USING COVERING INDEX/);
        }
      }
    });
  }

  test('filtered by an owner or a gateway reads the rows of these alone, whatever the order', async () => {
    for (const [q, index] of [
      ['owner==owner', /SEARCH device USING (COVERING )?INDEX device_owner/],
      ['gateway_id==g1', /SEARCH device USING (COVERING )?INDEX device_gateway/],
    ] as const) {
      for (const order of ['created', 'name', '-heard'] as const) {
        for (const plan of await plansOf({ order, filter: parseFilter(q) })) assert.match(plan, index, `${q} ${order}`);
      }
    }
  });
});
