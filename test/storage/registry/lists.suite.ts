// What every engine must do alike where records are listed for somebody: who sees which, in what order, page by page. Run on
// each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { Device } from '../../../src/domain/devices/device.ts';
import { type DeviceOrder, deviceOrders } from '../../../src/domain/devices/device-store.ts';
import { parseFilter } from '../../../src/domain/devices/filter.ts';
import type { Audience, ProtectedRecord } from '../../../src/domain/permissions/permission.ts';
import type { OrderedRecord } from '../../../src/domain/permissions/permission-queries.ts';
import type { RecordKind } from '../../../src/domain/scopes.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { batchOf, nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { byCodePoints, everybody, found, many, Records } from './records.ts';

/** As rows are listed: in order of key. */
type Listed = Pick<ProtectedRecord, 'id' | 'ownerKey' | 'visibility' | 'shares'> & { readonly key: number };

/** The rule of Permissions.scopesOf, in other words. */
function isSeen(record: Listed, audience: Audience): boolean {
  if (audience.only !== undefined && !audience.only.includes(record.id)) return false;
  if (audience.all) return true;
  if (audience.public && record.visibility === 'public') return true;
  if (audience.user === undefined) return false;
  const shared = record.shares?.get(audience.user) ?? 0;
  return record.ownerKey === audience.user || (shared & audience.shared) !== 0;
}

const pages = { limit: fc.integer({ min: 0, max: 40 }), offset: fc.integer({ min: 0, max: 40 }) };

export function listsSuite({ name, open }: EngineKind): void {
  suite(`lists of records on ${name}`, () => {
    let opened: OpenedEngine;
    const users: User[] = [];
    const records = new Records(() => opened);
    const stored: Record<RecordKind, Listed[]> = { device: [], gateway: [], project: [] };
    const anyAudience = (kind: RecordKind): fc.Arbitrary<Audience> => {
      const only = fc.option(fc.subarray(stored[kind].map(({ id }) => id)), { nil: undefined });
      const user = fc.option(fc.constantFrom(...users.map(({ key }) => key)), { nil: undefined });
      const some = fc.record({
        all: fc.constant(false as const),
        public: fc.boolean(),
        user,
        shared: fc.nat({ max: 31 }),
      });
      const named = fc.tuple(fc.oneof(fc.constant(everybody), some), only);
      return named.map(([audience, ids]) => (ids === undefined ? audience : { ...audience, only: ids }));
    };

    before(async () => {
      opened = await open();
      for (let n = 0; n < 3; n++) users.push(await records.user());
      for (let n = 0; n < 40; n++) {
        const owner = found(users[n % 3]);
        const visibility = n % 4 === 0 ? ('public' as const) : ('private' as const);
        // Some have no name, some the same, in one case or another.
        const named = n % 5 === 0 ? {} : { name: `${['b', 'A', 'a_', '場', 'B%'][n % 5]}${n % 7}` };
        const sensors = [{ id: `s${n % 6}`, kindName: 'sensor_kind' as const, name: n % 2 === 0 ? 'Temp' : 'Hum' }];
        const gateway = n % 3 === 0 ? { gatewayId: 'there' } : {};
        const { key, id } = await records.device(owner, { visibility, ...named, ...gateway, sensors });
        for (const user of users)
          if ((n + user.key) % 3 === 0)
            await opened.stores.devices.putShare(key, user.key, { scopes: 1 << (n % 5), givenBy: owner.key });
        stored.device.push(await records.deviceOf(id));
        stored.gateway.push(await records.gateway(owner, { visibility }));
        stored.project.push(await records.project(owner));
      }
    });
    after(() => opened.close());

    test('each sees of every kind of record what is public, theirs or shared with them, in steps that fit together', async () => {
      for (const kind of ['device', 'gateway', 'project'] as const) {
        const step = { ...pages, audience: anyAudience(kind), start: fc.nat({ max: 40 }) };
        const property = fc.asyncProperty(fc.record(step), async ({ audience, start, limit, offset }) => {
          const after = stored[kind][start]?.key ?? 0;
          const seen = stored[kind].filter((record) => isSeen(record, audience));
          const expected = seen.filter(({ key }) => key > after).slice(offset, offset + limit);
          const query = { audience, after, limit, offset };
          const listed = await opened.stores.protectedRecords.list(kind, query);
          assert.deepEqual(listed.map((record) => ({ ...record })), expected.map((one) => protectedOf(kind, one, audience))); // biome-ignore format: short
          assert.equal(await opened.stores.protectedRecords.count(kind, audience), seen.length);
          if (kind === 'gateway') {
            const gateways = await opened.stores.gateways.list({ ...query, filter: [] });
            assert.deepEqual(gateways, expected);
            assert.equal(await opened.stores.gateways.count({ audience, filter: [] }), seen.length);
          }
          if (kind !== 'project') return;
          assert.deepEqual(await opened.stores.projects.list(query), expected);
          assert.equal(await opened.stores.projects.count(audience), seen.length);
        });
        await fc.assert(property, properties({ factor: 0.3 }));
      }
    });

    test('devices come in the order asked for, equal ones in order of creation, and pages fit together', async () => {
      const query = { ...pages, audience: anyAudience('device'), order: fc.constantFrom(...deviceOrders) };
      const property = fc.asyncProperty(fc.record(query), async ({ audience, order, limit, offset }) => {
        const seen = (stored.device as Device[]).filter((device) => isSeen(device, audience)).sort(comparison(order));
        const { devices } = opened.stores;
        const keys = await devices.listKeys({ audience, order, limit, offset, filter: [] });
        assert.deepEqual(keys, seen.slice(offset, offset + limit).map(({ key }) => key)); // biome-ignore format: short
        assert.deepEqual(await devices.listByKeys(keys), seen.slice(offset, offset + limit));
        assert.equal(await devices.count({ audience, filter: [] }), seen.length);
        const ofGateway = await devices.listKeysAfter({ gateway: 'there', audience, after: 0, limit, offset });
        const behind = seen.filter(({ gatewayId }) => gatewayId === 'there').sort(comparison('created'));
        assert.deepEqual(ofGateway.map(({ key }) => key), behind.slice(offset, offset + limit).map(({ key }) => key)); // biome-ignore format: short
      });
      await fc.assert(property, properties({ factor: 0.5 }));
    });

    test('a search finds a text in ids and names, whatever its case, and takes no character for another', async () => {
      const texts = ['b', 'A_', '%', '_', '\\', '場', 'DEVICE-1', '', 'a1'];
      const asked = fc.record({
        text: fc.option(fc.constantFrom(...texts), { nil: undefined }),
        sensorText: fc.option(fc.constantFrom('TEMP', 'hum', 's1', 'S', '%', ''), { nil: undefined }),
        sharedWith: fc.option(fc.constantFrom(...users.map(({ key }) => key)), { nil: undefined }),
      });
      const property = fc.asyncProperty(asked, anyAudience('device'), async (search, audience) => {
        const { text, sensorText, sharedWith } = search;
        const holds = (part: string | undefined, ...within: (string | undefined)[]) =>
          part === undefined || within.some((one = '\0') => one.toLowerCase().includes(part.toLowerCase()));
        const expected = (stored.device as Device[]).filter(
          (device) =>
            isSeen(device, audience) &&
            holds(text, device.id, device.name) &&
            [...device.sensors.values()].some((sensor) => holds(sensorText, sensor.id, sensor.name)) &&
            (sharedWith === undefined || device.shares.has(sharedWith)),
        );
        const query = { audience, filter: [], search };
        const keys = await opened.stores.devices.listKeys({ ...query, offset: 0 });
        assert.deepEqual(keys, expected.map(({ key }) => key)); // biome-ignore format: short
        assert.equal(await opened.stores.devices.count(query), expected.length);
      });
      await fc.assert(property, properties({ factor: 0.5 }));
    });

    test('devices are put in order by when they were last heard or changed, whether that is sealed or not', async () => {
      const heard = (stored.device as Device[])
        .slice(0, 12)
        .map((device, n) => ({ device, atMs: nowMs + 1 + ((n * 5) % 12) }));
      const push = ({ device, atMs }: (typeof heard)[number]) => {
        const sensor = found([...device.sensors.values()][0]).key;
        return opened.commitLog.append(batchOf([{ sensor, received: atMs, value: 1 }]));
      };
      for (const one of heard.slice(0, 6)) await push(one);
      await opened.seal();
      for (const one of heard.slice(6)) await push(one);
      const heardMs = new Map(heard.map(({ device, atMs }) => [device.key, atMs]));
      const timeOf = (device: Device) => Math.max(device.dateModifiedMs, heardMs.get(device.key) ?? 0);
      const expected = (stored.device as Device[]).toSorted((a, b) => timeOf(a) - timeOf(b) || a.key - b.key);
      const listed = (order: DeviceOrder) =>
        opened.stores.devices.listKeys({ audience: everybody, order, filter: [], offset: 0 });
      const keys = expected.map(({ key }) => key);
      for (const then of [opened.seal, opened.reopen]) {
        assert.deepEqual(await listed('heard'), keys);
        assert.deepEqual(await listed('-heard'), keys.toReversed());
        await then();
      }
      assert.deepEqual(await listed('heard'), keys);
    });
  });
}

/** What is listed of a record: of its shares that with the audience's user alone. */
function protectedOf(kind: RecordKind, record: Listed, audience: Audience): OrderedRecord {
  const { key, id, ownerKey, visibility, shares } = record;
  const user = audience.all ? undefined : audience.user;
  const shared = user === undefined ? undefined : shares?.get(user);
  const share = user === undefined || shared === undefined ? {} : { shares: new Map([[user, shared]]) };
  return { kind, key, id, ownerKey, visibility, ...share };
}

function comparison(order: DeviceOrder): (a: Device, b: Device) => number {
  const sign = order.startsWith('-') ? -1 : 1;
  const nameOf = ({ id, name = id }: Device) => name.toLowerCase();
  const times = (a: Device, b: Device) => a.dateModifiedMs - b.dateModifiedMs;
  const names = (a: Device, b: Device) => byCodePoints(nameOf(a), nameOf(b));
  const naturalOf = (device: Device) =>
    nameOf(device).replace(/[0-9]+/g, (n) => n.replace(/^0+(?=.)/, '').padStart(20, '0'));
  const naturally = (a: Device, b: Device) => byCodePoints(naturalOf(a), naturalOf(b));
  const compares = { created: () => 0, name: names, natural: naturally, heard: times };
  const compare = compares[order.replace('-', '') as keyof typeof compares];
  return (a, b) => sign * (compare(a, b) || a.key - b.key);
}

/** Lists that are narrowed by a `q`. */
export function filtersSuite({ name, open }: EngineKind): void {
  suite(`filtered lists on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('devices are found by their fields and by those of their parts', async () => {
      const [awa, bou] = [await records.user({ username: 'awa' }), await records.user({ username: 'bou' })];
      const sensor = { id: 's', kindName: 'sensor_kind' as const, unit: 'C', meta: { rack: 4 } };
      const first = { id: 'one', name: 'x,y', domain: 'farm', meta: { a: { b: 5 }, on: true }, sensors: [sensor] };
      await records.device(awa, { ...first, deployed: true, retentionDays: 9, gatewayId: 'g' });
      await records.device(awa, { id: 'two', name: '🥁', visibility: 'public', meta: { a: { b: '5' } } });
      const actuators = [{ id: 'a', name: 'valve', valueType: 'bool' as const }];
      await records.device(bou, { id: 'three', deployed: false, sensors: [{ ...sensor, unit: 'K' }], actuators });
      const expected: Record<string, readonly string[]> = {
        'id==two': ['two'],
        'id==two,three': ['two', 'three'],
        'id!=two': ['one', 'three'],
        'id>one': ['two', 'three'],
        'name==x%2Cy': ['one'],
        'name==🥁': ['two'],
        'name!=🥁': ['one', 'three'],
        'domain==farm;visibility==private': ['one'],
        'visibility==public': ['two'],
        'owner==bou': ['three'],
        'owner!=bou': ['one', 'two'],
        'gateway_id==g': ['one'],
        'deployed==true': ['one'],
        'deployed==false': ['three'],
        'retention_days>8': ['one'],
        'retention_days<=8': [],
        'meta.a.b==5': ['one', 'two'],
        'meta.a.b>4': ['one', 'two'],
        'meta.on==true': ['one'],
        'meta.none==1': [],
        'meta.none!=1': ['one', 'two', 'three'],
        'sensors.unit==C': ['one'],
        'sensors.unit!=C': ['two', 'three'],
        'sensors.meta.rack<=4': ['one', 'three'],
        'actuators.name==valve': ['three'],
        'actuators.value_type!=bool': ['one', 'two'],
        'date_created==2026-01-15T12:00:00Z': ['one', 'two', 'three'],
        'date_modified>2026-01-15T12:00:00Z': [],
        "id==' OR 1=1 --": [],
      };
      const { devices } = opened.stores;
      for (const [q, ids] of Object.entries(expected)) {
        const query = { audience: everybody, filter: parseFilter(q) };
        const listed = await devices.listByKeys(await devices.listKeys({ ...query, offset: 0 }));
        assert.deepEqual(listed.map(({ id }) => id), ids, q); // biome-ignore format: short
        assert.equal(await devices.count(query), ids.length, q);
      }
      for (const q of ['unknown!=1', 'location==1', 'meta==1', 'sensors==s', 'sensors.meta==1', 'id.x==1']) {
        const query = { audience: everybody, filter: parseFilter(q) };
        await assert.rejects(async () => devices.count(query), { code: 'malformed' }, q);
      }
    });

    test('gateways are found by their fields', async () => {
      const owner = await records.user({ username: 'codou' });
      await records.gateway(owner, { id: 'one', name: 'shed', location: { latitude: 14.5, note: 'x' } });
      const { key } = await records.gateway(owner, { id: 'two', visibility: 'public' });
      await opened.stores.gateways.saveLastSeen([{ gateway: key, atMs: nowMs }]);
      const expected: Record<string, readonly string[]> = {
        'id==one': ['one'],
        'name==shed': ['one'],
        'name!=shed': ['two'],
        'visibility==public': ['two'],
        'owner==codou': ['one', 'two'],
        'owner!=codou': [],
        'location.latitude>14': ['one'],
        'location.note==x': ['one'],
        'last_seen==2026-01-15T12:00:00Z': ['two'],
        'last_seen!=2026-01-15T12:00:00Z': ['one'],
      };
      for (const [q, ids] of Object.entries(expected)) {
        const query = { audience: everybody, filter: parseFilter(q) };
        const listed = await opened.stores.gateways.list({ ...query, after: 0, limit: many, offset: 0 });
        assert.deepEqual(listed.map(({ id }) => id), ids, q); // biome-ignore format: short
        assert.equal(await opened.stores.gateways.count(query), ids.length, q);
      }
      const unknown = { audience: everybody, filter: parseFilter('location!=1') };
      await assert.rejects(async () => opened.stores.gateways.count(unknown), { code: 'malformed' });
    });
  });
}
