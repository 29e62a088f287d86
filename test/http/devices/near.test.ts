// Devices around a place: filtered, nearest first, right across the date line and the poles, and by what each caller may see.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { openRegistryOf } from '../../support/data.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

const places: Readonly<Record<string, readonly [latitude: number, longitude: number]>> = {
  dakar: [14.7167, -17.4677],
  louis: [16.0179, -16.4896],
  thies: [14.791, -16.9359],
  fiji: [-17.7134, 178.065],
  samoa: [-13.759, -172.1046],
  taveuni: [-16.84, -179.97],
  'pole-a': [89.9, 0],
  'pole-b': [89.9, 180],
  'south-a': [-90, 12],
  'south-b': [-90, -170],
};

before(async () => {
  server = await TestServer.start();
  for (const [id, [latitude, longitude]] of Object.entries(places)) {
    const json = { id, location: { latitude, longitude }, domain: id.startsWith('pole') ? 'ice' : 'land' };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  }
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'nowhere' }, expect: 204 });
  const shown = { id: 'shown', visibility: 'public', location: { latitude: 14.7, longitude: -17.4 } };
  await make(server, { as: 'stranger', call: 'POST /devices', json: shown, expect: 204 });
  const hidden = { id: 'hidden', location: { latitude: 14.7, longitude: -17.4 } };
  await make(server, { as: 'stranger', call: 'POST /devices', json: hidden, expect: 204 });
});
after(() => server.stop());

async function near(place: string, { as = 'owner', more = '' } = {}) {
  const { body, headers } = await make(server, { as, call: `GET /devices?near=${place}${more}`, expect: 200 });
  const found = body as { id: string; distance_km: number }[];
  return { ids: found.map(({ id }) => id), km: found.map(({ distance_km }) => distance_km), headers };
}

test('devices within the distance come nearest first, each with its distance', async () => {
  const { ids, km } = await near('14.7167,-17.4677,200');
  assert.deepEqual(ids, ['dakar', 'shown', 'thies', 'louis']);
  assert.equal(km[0], 0);
  // By the formula of great circles; Saint-Louis is some 179 km from Dakar.
  assert.ok(Math.abs((km[3] ?? 0) - 178.8) < 1, String(km[3]));
  assert.deepEqual((await near('14.7167,-17.4677,170')).ids, ['dakar', 'shown', 'thies']);
  assert.deepEqual((await near(`14.7167,-17.4677,${(km[3] ?? 0) + 0.002}`)).ids.length, 4);
  assert.deepEqual((await near(`14.7167,-17.4677,${(km[3] ?? 0) - 0.002}`)).ids.length, 3);
});

test('the date line and the poles are no borders', async () => {
  assert.deepEqual((await near('-16.84,179.97,10')).ids, ['taveuni']);
  assert.deepEqual((await near('-17.7134,-179.9,400')).ids, ['taveuni', 'fiji']);
  assert.deepEqual((await near('90,0,12')).ids, ['pole-a', 'pole-b']);
  assert.deepEqual((await near('89.9,90,23')).ids.toSorted(), ['pole-a', 'pole-b']);
  assert.deepEqual((await near('-90,99,1')).ids, ['south-a', 'south-b']);
});

test('the whole earth is near, but what has no location', async () => {
  const { ids, km } = await near('0,0,20037.6', { more: '&limit=100' });
  assert.equal(ids.length, Object.keys(places).length + 1);
  assert.deepEqual(
    km,
    km.toSorted((a, b) => a - b),
  );
});

test('by what each caller may see', async () => {
  assert.deepEqual((await near('14.7,-17.4,50', { as: 'guest' })).ids, ['shown']);
  assert.deepEqual((await near('14.7,-17.4,50', { as: 'stranger' })).ids, ['shown', 'hidden']);
  assert.deepEqual((await near('14.7,-17.4,50', { as: 'admin' })).ids, ['shown', 'hidden', 'dakar']);
});

test('together with q, order and pages', async () => {
  assert.deepEqual((await near('89,0,300', { more: '&q=domain==ice' })).ids, ['pole-a', 'pole-b']);
  assert.deepEqual((await near('89,0,300', { more: '&q=domain==land' })).ids, []);
  assert.deepEqual((await near('14.7167,-17.4677,200', { more: '&order=-name' })).ids, [
    'thies',
    'shown',
    'louis',
    'dakar',
  ]);
  const { ids, headers } = await near('14.7167,-17.4677,200', { more: '&limit=2&offset=1' });
  assert.deepEqual(ids, ['shown', 'thies']);
  assert.equal(headers['x-total-count'], '4');
  assert.match(String(headers.link), /near=14\.7167%2C-17\.4677%2C200.*offset=3>; rel="next"/);
});

test('a place that is none is refused', async () => {
  const bad = ['', '1,2', '1,2,3,4', '91,0,1', '-90.1,0,1', '0,181,1', '0,0,0', '0,0,-1', '0,0,20038', 'a,b,c', '1e1,0,1', 'NaN,0,1', '0,0,Infinity', '0x1,0,1', ' , ,1', `0.${'1'.repeat(99)},0,1`]; // biome-ignore format: one line
  for (const place of bad) {
    await make(server, { as: 'owner', call: `GET /devices?near=${encodeURIComponent(place)}`, expect: 400 });
  }
});

test('a location that an earlier release took beyond the bounds is left out', async () => {
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'far' }, expect: 204 });
  const { registry, close } = await openRegistryOf(server.folder);
  for (const location of [
    '{"latitude":1,"longitude":1e300}',
    '{"latitude":"1","longitude":1}',
    '[1,1]',
    '7',
    '{"latitude":1}',
  ]) {
    await registry.write([registry.read.updateTable('device').set({ location }).where('id', '=', 'far')]);
    assert.ok(!(await near('0,0,20037.6', { more: '&limit=100' })).ids.includes('far'), location);
  }
  await close();
});
