// I6 as a property: for any users, devices, shares and visibilities, lists, the query for permissions and all calls
// over HTTP and MQTT agree with an independent model of a few lines.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { setLimits } from '../support/limits.ts';
import { Client, takeAll } from '../support/mqtt/mqtt-client.ts';
import { addUsers } from '../support/people.ts';
import { properties } from '../support/properties.ts';
import { type Carries, TestServer } from '../support/test-server.ts';

const names = ['devices:view', 'devices:update', 'devices:delete', 'devices-data:view', 'devices-data:create'] as const;
const everyones: readonly string[] = ['devices:view', 'devices-data:view', 'devices-data:create'];
const users = ['owner', 'stranger', 'sharer', 'fourth'] as const;
const actors = ['guest', ...users, 'admin'] as const;

// An admin renames more devices than a day allows.
setLimits({ renamesPerUserMax: 1_000_000 });

interface World {
  readonly owner: (typeof users)[number] | 'guest' | 'admin';
  readonly isPublic: boolean;
  readonly shares: readonly { readonly user: (typeof users)[number]; readonly scopes: readonly string[] }[];
  /** A later owner of the device and its gateway, if any. */
  readonly heir?: (typeof users)[number] | undefined;
  /** Shares of the gateway, which may reach its devices. */
  readonly gatewayShares: readonly RecordShare[];
  /** Whether the device has another gateway, of the same owner or of a stranger, and not its own. */
  readonly strayTo?: 'own' | 'foreign' | undefined;
  /** Shares of a project that names the device; whose project that is; whether it names the device from the start. */
  readonly projectShares: readonly RecordShare[];
  readonly projectOf: 'owner' | 'other';
  readonly named: 'first' | 'later' | 'no more';
  /** Whether the device had another id before, and whether it has come back to its own by way of another. */
  readonly renamed: 'never' | 'once' | 'there and back';
}

interface RecordShare {
  readonly user: (typeof users)[number];
  /** Which of view, update and delete the share gives on the record. */
  readonly own: readonly ('view' | 'update' | 'delete')[];
  readonly onDevices: readonly string[];
}

const scopes = fc.subarray([...names], { minLength: 1 });
const share = fc.record({ user: fc.constantFrom(...users), scopes });
const recordShare: fc.Arbitrary<RecordShare> = fc
  .record({
    user: fc.constantFrom(...users),
    own: fc.subarray(['view', 'update', 'delete'] as const),
    onDevices: fc.subarray([...names]),
  })
  .filter(({ own, onDevices }) => own.length + onDevices.length > 0);
const world: fc.Arbitrary<World> = fc.record({
  gatewayShares: fc.array(recordShare, { maxLength: 2 }),
  strayTo: fc.option(fc.constantFrom('own' as const, 'foreign' as const), { nil: undefined, freq: 3 }),
  projectShares: fc.array(recordShare, { maxLength: 2 }),
  projectOf: fc.constantFrom('owner' as const, 'owner' as const, 'other' as const),
  named: fc.constantFrom('first' as const, 'later' as const, 'no more' as const),
  owner: fc.constantFrom(...users, 'guest' as const, 'admin' as const),
  renamed: fc.constantFrom('never' as const, 'once' as const, 'there and back' as const),
  isPublic: fc.boolean(),
  shares: fc.array(share, { maxLength: 3 }),
  heir: fc.option(fc.constantFrom(...users), { nil: undefined, freq: 6 }),
});

/** Handing a device to somebody else ends the shares that others gave. */
function sharesOf(device: World): World['shares'] {
  return device.heir === undefined || device.heir === device.owner ? device.shares : [];
}

/** The shares that still count of the gateway, and of the project. Handing the gateway over ends all of them. */
const gatewaySharesOf = (device: World) =>
  device.heir === undefined || device.heir === device.owner ? device.gatewayShares : [];
const projectOwnerOf = (device: World) => (device.projectOf === 'owner' ? device.owner : otherThan(device));
const otherThan = (device: World) => (device.owner === 'fourth' ? 'stranger' : 'fourth');

/** What the actor has on the device by shares: of itself, of its gateway, of a project of its owner that names it. */
function sharedWith(actor: string, device: World): readonly string[] {
  const last = (shares: readonly RecordShare[]) => shares.findLast(({ user }) => user === actor)?.onDevices ?? [];
  const own = sharesOf(device).findLast(({ user }) => user === actor)?.scopes ?? [];
  const byGateway = device.strayTo === undefined ? last(gatewaySharesOf(device)) : [];
  const isReached = device.named !== 'no more' && projectOwnerOf(device) === (device.heir ?? device.owner);
  // The stranger whose gateway it names, and who shares that with everybody, may have become its owner.
  const isOfStranger = device.strayTo === 'foreign' && device.heir === otherThan(device);
  const byStranger = isOfStranger && (users as readonly string[]).includes(actor) ? names : [];
  return [...own, ...byGateway, ...(isReached ? last(device.projectShares) : []), ...byStranger];
}

function isOwnerOf(actor: string, device: World, guestMayAll: boolean): boolean {
  return actor === (device.heir ?? device.owner) && (actor !== 'guest' || guestMayAll);
}

/** The law. Of each record, the last share with somebody counts. */
function lawOf(actor: string, device: World, guestMayAll: boolean): readonly string[] {
  if (actor === 'admin' || isOwnerOf(actor, device, guestMayAll)) return names;
  const shared = sharedWith(actor, device);
  const open = device.isPublic || device.owner === 'guest' ? everyones : [];
  return names.filter((name) => open.includes(name) || shared.includes(name));
}

let server: TestServer;
let runs = 0;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['fourth'], server.clock);
});
after(() => server.stop());

for (const mode of ['full', 'push'] as const) {
  suite(`with guest access ${mode}`, () => {
    let clients: readonly Client[];

    before(async () => {
      await server.restart({ DUNDUN_GUEST_ACCESS: mode });
      clients = await Promise.all(actors.map((actor) => Client.connect(server, actor)));
      for (const client of clients) await client.subscribe('#', 1);
    });
    after(() => Promise.all(clients.map((client) => client.end())));

    test('everybody sees and may exactly what the law says', async () => {
      const property = fc.asyncProperty(fc.array(world, { minLength: 1, maxLength: 2 }), async (worlds) => {
        const ids = await create(worlds);
        try {
          await Promise.all(actors.map((actor) => check(actor, ids, worlds, mode === 'full')));
          await checkValues(clients, ids, worlds, mode === 'full');
        } finally {
          const paths = ids.flatMap((id) => [
            ...[`/devices/${id}`, `/gateways/${id}`, `/projects/${id}`],
            ...[`/gateways/${id}-own`, `/gateways/${id}-foreign`],
          ]);
          await Promise.all(paths.map((path) => server.call('admin', 'DELETE', path)));
        }
      });
      // In each of the three modes.
      await fc.assert(property, properties({ factor: 0.25 }));
    });
  });
}

/** Devices, gateways of the same ids, owners and visibilities, and projects of the same ids. */
async function create(worlds: readonly World[]): Promise<string[]> {
  runs += 1;
  const ids = worlds.map((_, n) => `run-${runs}-${n}`);
  for (const [n, { owner, isPublic, shares, heir, renamed }] of worlds.entries()) {
    const named = { id: ids[n], visibility: isPublic ? 'public' : 'private' };
    const first = renamed === 'once' ? `${ids[n]}-before` : ids[n];
    const path = `/devices/${first}`;
    await done(owner, 'POST', '/gateways', named, 200);
    await createReaching(worlds[n] as World, ids[n] as string);
    const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
    await done(owner, 'POST', '/devices', { ...named, ...parts, id: first, gateway_id: ids[n] });
    for (const { user, scopes: given } of shares)
      await done('admin', 'PUT', `${path}/shares/${user}`, { scopes: given });
    if (renamed === 'there and back') await done('admin', 'PUT', `${path}/id`, `${ids[n]}-away`);
    if (renamed !== 'never') await done('admin', 'PUT', `${path}/id`, ids[n]);
    await rearrange(worlds[n] as World, ids[n] as string);
    if (heir === undefined) continue;
    for (const kind of ['devices', 'gateways']) await done('admin', 'PUT', `/${kind}/${ids[n]}/owner`, heir);
  }
  return ids;
}

/** Shares the gateway, and a project, before there is the device. */
async function createReaching(device: World, id: string): Promise<void> {
  const { named, gatewayShares, projectShares } = device;
  const project = { id, device_ids: named === 'later' ? [] : [id] };
  await done(projectOwnerOf(device), 'POST', '/projects', project, 200);
  for (const [kind, shares] of [
    ['gateway', gatewayShares],
    ['project', projectShares],
  ] as const) {
    for (const { user, own, onDevices } of shares) {
      const scopes = [...own.map((name) => `${kind}:${name}`), ...onDevices];
      await done('admin', 'PUT', `/${kind}s/${id}/shares/${user}`, { scopes, with_devices: onDevices.length > 0 });
    }
  }
}

/** Moves the device, once everybody may have asked for it, to another gateway; the project takes it in or leaves it out. */
async function rearrange(device: World, id: string): Promise<void> {
  const { named, strayTo } = device;
  for (const actor of actors) await server.call(actor, 'GET', `/devices/${id}/sensors/s/values`);
  if (named !== 'first') await done('admin', 'PUT', `/projects/${id}/device_ids`, named === 'later' ? [id] : []);
  if (strayTo === undefined) return;
  const gateway = `${id}-${strayTo}`;
  const owner = strayTo === 'own' ? device.owner : otherThan(device);
  await done(owner, 'POST', '/gateways', { id: gateway, visibility: 'private' }, 200);
  if (strayTo === 'foreign') {
    for (const user of users) {
      await done('admin', 'PUT', `/gateways/${gateway}/shares/${user}`, { scopes: names, with_devices: true });
    }
  }
  await done('admin', 'PUT', `/devices/${id}/gateway_id`, gateway);
}

async function done(as: string, method: string, path: string, json: unknown, expected = 204): Promise<void> {
  const { status, text } = await server.call(as, method, path, { json });
  assert.equal(status, expected, text);
}

/** The law for gateways: a public one is seen by everybody, and only its owner and admins do more. */
function gatewayLawOf(actor: string, gateway: World, guestMayAll: boolean): readonly string[] {
  const all = ['gateways:view', 'gateways:update', 'gateways:delete'];
  const owner = gateway.heir ?? gateway.owner;
  if (actor === 'admin' || (actor === owner && (actor !== 'guest' || guestMayAll))) return all;
  const own = gatewaySharesOf(gateway).findLast(({ user }) => user === actor)?.own ?? [];
  const shared = own.map((name) => `gateways:${name}`);
  const isOpen = gateway.isPublic || gateway.owner === 'guest';
  return all.filter((name) => shared.includes(name) || (isOpen && name === 'gateways:view'));
}

/** The law for projects: their owner and admins do everything, and others what a share says. */
function projectLawOf(actor: string, world: World, guestMayAll: boolean): readonly string[] {
  const all = ['view', 'update', 'delete'] as const;
  const isOwner = actor === projectOwnerOf(world) && (actor !== 'guest' || guestMayAll);
  const own = world.projectShares.findLast(({ user }) => user === actor)?.own ?? [];
  return all.filter((name) => actor === 'admin' || isOwner || own.includes(name)).map((name) => `projects:${name}`);
}

/** The law for actuators: who may change the device, and whom a share lets push. */
function maySet(actor: string, device: World, guestMayAll: boolean): boolean {
  if (lawOf(actor, device, guestMayAll).includes('devices:update')) return true;
  return sharedWith(actor, device).includes('devices-data:create');
}

async function check(
  actor: string,
  ids: readonly string[],
  worlds: readonly World[],
  guestMayAll: boolean,
): Promise<void> {
  const laws = {
    devices: worlds.map((device) => lawOf(actor, device, guestMayAll)),
    gateways: worlds.map((gateway) => gatewayLawOf(actor, gateway, guestMayAll)),
    projects: worlds.map((project) => projectLawOf(actor, project, guestMayAll)),
  };
  const isOurs = (id: string) => ids.includes(id);
  for (const [kind, held] of Object.entries(laws)) {
    const expected = ids.flatMap((resource, n) => (held[n]?.length ? [{ resource, scopes: held[n] }] : []));
    const permissions = await server.call(actor, 'GET', `/auth/permissions/${kind}`);
    const ofOurs = permissions.body.filter(({ resource }: { resource: string }) => isOurs(resource));
    assert.deepEqual(ofOurs, expected, `permissions of ${actor}`);
    const list = await server.call(actor, 'GET', `/${kind}?limit=1000`);
    assert.deepEqual(
      list.body.map(({ id }: { id: string }) => id).filter(isOurs),
      ids.filter((_, n) => held[n]?.includes(`${kind}:view`)),
      `the list of ${kind} of ${actor}`,
    );
  }
  for (const [n, id] of ids.entries()) {
    const mayAct = maySet(actor, worlds[n] as World, guestMayAll);
    const ofRecords = [...(laws.devices[n] ?? []), ...(laws.gateways[n] ?? []), ...(laws.projects[n] ?? [])];
    const mayBeat =
      worlds[n]?.isPublic || worlds[n]?.owner === 'guest' || laws.gateways[n]?.includes('gateways:update');
    const isOwner = actor === 'admin' || isOwnerOf(actor, worlds[n] as World, guestMayAll);
    const others = [mayAct ? ['actuators'] : [], mayBeat ? ['heartbeat'] : [], isOwner ? ['move'] : []];
    const held = [...ofRecords, ...others.flat()];
    for (const [method, path, carries, scope, status] of doorsOf(id)) {
      const answer = await server.request(actor, method, path.startsWith('/api/') ? path : `/api/v2${path}`, carries);
      assert.equal(answer.status, held.includes(scope) ? status : 403, `${method} ${path} of ${actor}`);
    }
    const { body } = await server.call(actor, 'GET', `/devices/${id}/permissions/explain`);
    const explained = body.scopes.filter((one: { held: boolean; from: unknown[] }) => one.held && one.from.length > 0);
    assert.deepEqual(
      [explained.map(({ scope }: { scope: string }) => scope), body.may_set_actuators],
      [laws.devices[n], mayAct],
      `the explanation for ${actor}`,
    );
  }
}

type Door = readonly [method: string, path: string, carries: Carries, scope: string, status: number];

/** What tells who may by its status alone. */
function doorsOf(id: string): readonly Door[] {
  const [device, gateway, project] = [`/devices/${id}`, `/gateways/${id}`, `/projects/${id}`];
  const older = `/api/v1/sensors/${id}`;
  return [
    ['GET', older, {}, 'devices:view', 200],
    ['GET', `${older}/measurements/s/values`, {}, 'devices-data:view', 200],
    ['POST', `${older}/measurements/s/value`, { json: [] }, 'devices-data:create', 200],
    ['PUT', `/api/v1/domains/any/sensors/${id}/name`, { json: 'named' }, 'devices:update', 200],
    ['GET', device, {}, 'devices:view', 200],
    ['GET', `${device}/sensors/s/values`, {}, 'devices-data:view', 200],
    ['GET', `${device}/sensors/s/values?format=csv`, {}, 'devices-data:view', 200],
    ['GET', `/sensors_data?device_id=${id}&sensor_id=s`, {}, 'devices-data:view', 200],
    ['POST', `${device}/sensors/s/values`, { json: [] }, 'devices-data:create', 204],
    ['PUT', `${device}/actuators/a/value`, { json: 0 }, 'actuators', 204],
    ['PUT', `${device}/name`, { json: 'named' }, 'devices:update', 204],
    // There is nothing of that time.
    ['DELETE', `${device}/sensors/s/values?dateFrom=1970-01-01&dateTo=1970-01-02`, {}, 'devices:update', 200],
    ['PUT', `${device}/sensors/s/values/1970-01-01T00:00:00Z`, { json: { value: 1 } }, 'devices:update', 404],
    // A sensor moves with its history, so no share is enough.
    ['PUT', `${device}/sensors/s/device`, { json: id }, 'move', 204],
    ['GET', gateway, {}, 'gateways:view', 200],
    ['PUT', `${gateway}/name`, { json: 'named' }, 'gateways:update', 204],
    // A heartbeat is for everybody where the gateway is public, and otherwise for whoever may change it.
    ['PUT', `${gateway}/health`, {}, 'heartbeat', 204],
    ['GET', project, {}, 'projects:view', 200],
    ['PUT', `${project}/name`, { json: 'named' }, 'projects:update', 204],
  ];
}

/** What everybody pushes and sets, by REST and MQTT: what is stored of it, and what reaches whom. */
async function checkValues(
  clients: readonly Client[],
  ids: readonly string[],
  worlds: readonly World[],
  guestMayAll: boolean,
): Promise<void> {
  await takeAll(server, ...clients);
  const published: string[][] = actors.map(() => []);
  for (const [n, id] of ids.entries()) {
    const device = worlds[n] as World;
    const stored: number[] = [];
    // All at once: each value is another, and the order of messages is not what this is about.
    await Promise.all(actors.map((actor, m) => pushAndSet(actor, clients[m] as Client, id, m)));
    for (const [m, actor] of actors.entries()) {
      const values = lawOf(actor, device, guestMayAll).includes('devices-data:create') ? [2 * m, 2 * m + 1] : [];
      stored.push(...values);
      const messages = values.map((value) => `devices/${id}/sensors/s/value {"value":${value}}`);
      if (maySet(actor, device, guestMayAll)) messages.push(`devices/${id}/actuators/a/value ${m}`);
      for (const [k, reader] of actors.entries()) {
        if (lawOf(reader, device, guestMayAll).includes('devices-data:view')) published[k]?.push(...messages);
      }
    }
    const { body } = await server.call('admin', 'GET', `/devices/${id}/sensors/s/values?limit=100`);
    const found = body.map(({ value }: { value: number }) => value);
    assert.deepEqual(new Set(found), new Set(stored), `what is stored of ${id}`);
    assert.equal(found.length, stored.length);
  }
  const received = await takeAll(server, ...clients);
  for (const [k, reader] of actors.entries()) {
    const messages = received[k]?.map(({ topic, payload }) => `${topic} ${payload}`).sort();
    assert.deepEqual(messages, published[k]?.sort(), `what reaches ${reader}`);
  }
}

async function pushAndSet(actor: string, client: Client, id: string, m: number): Promise<void> {
  await Promise.all([
    server.call(actor, 'POST', `/devices/${id}/sensors/s/value`, { json: { value: 2 * m } }),
    client.publish(`devices/${id}/sensors/s/value`, { value: 2 * m + 1 }, { qos: 1 }),
    client.publish(`devices/${id}/actuators/a/value`, String(m), { qos: 1 }),
  ]);
}
