// Lists of kinds and units (issue 3): the same for everybody, searchable and paged; sensors may use other words.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const list = async (path: string) => (await make(server, { call: `GET /ontologies/${path}`, expect: 200 })).body;
const ids = async (path: string): Promise<string[]> => (await list(path)).map(({ id }: { id: string }) => id);

test('each list has ids that differ, and labels', async () => {
  for (const name of ['sensor_kinds', 'quantity_kinds', 'units', 'actuator_kinds']) {
    const kinds = await list(name);
    assert.ok(kinds.length >= 15, name);
    assert.equal(new Set(kinds.map(({ id }: { id: string }) => id)).size, kinds.length, name);
    for (const { id, label } of kinds) assert.ok(id.length > 0 && label.length > 0, `${name} ${id}`);
  }
});

test('what a sensor of a kind measures, and the units of that, are known', async () => {
  const known = new Set(await ids('quantity_kinds'));
  for (const { id, quantity_kinds } of await list('sensor_kinds')) {
    for (const kind of quantity_kinds) assert.ok(known.has(kind), `${id}: ${kind}`);
  }
  for (const { id, quantity_kinds } of await list('units')) {
    for (const kind of quantity_kinds) assert.ok(known.has(kind), `${id}: ${kind}`);
  }
});

test('the names of deployed clients stand beside: qk for quantity kinds, and the units of each kind', async () => {
  const units = new Set(await ids('units'));
  const sensorKinds = await list('sensor_kinds');
  for (const { quantity_kinds, qk } of [...sensorKinds, ...(await list('units'))]) assert.deepEqual(qk, quantity_kinds);
  const quantityKinds = await list('quantity_kinds');
  for (const kind of [...sensorKinds, ...quantityKinds])
    for (const unit of kind.units) assert.ok(units.has(unit), `${kind.id}: ${unit}`);
  const unitsOf = (kinds: { id: string; units: string[] }[], id: string) => kinds.find((kind) => kind.id === id)?.units;
  for (const id of ['Temperature', 'AtmosphericPressure']) {
    const asked = await ids(`units?quantity_kind=${id}`);
    assert.deepEqual(unitsOf(quantityKinds, id)?.toSorted(), asked.toSorted());
  }
  assert.ok(unitsOf(sensorKinds, 'SoilTemperatureSensor')?.includes('DEG_C'));
  assert.deepEqual(unitsOf(sensorKinds, 'SmokeDetector'), []);
});

test('text is looked for in label, id and symbol, in whatever case', async () => {
  assert.deepEqual(
    await list('units?label=degree%20celsius&limit=1&offset=0'),
    await list('units?label=DEGREE%20CELSIUS&limit=1'),
  );
  assert.ok((await ids('units?label=deg_c')).includes('DEG_C'));
  const [celsius] = (await list(`units?label=${encodeURIComponent('°C')}`)).filter(
    ({ id }: { id: string }) => id === 'DEG_C',
  );
  assert.deepEqual(celsius?.iri, 'http://qudt.org/vocab/unit/DEG_C');
  assert.ok((await ids('units?quantity_kind=Temperature')).includes('DEG_C'));
  assert.ok((await ids('units?quantity_kind=AtmosphericPressure')).includes('HectoPA'));
  assert.ok(!(await ids('units?quantity_kind=Temperature')).includes('M'));
  assert.deepEqual(await ids('sensor_kinds?label=rain'), ['PrecipitationSensor']);
  assert.deepEqual(await ids('actuator_kinds?label=VALVE'), ['Valve']);
  assert.deepEqual(await ids('units?label=no%20such%20unit'), []);
});

test('pages follow one another', async () => {
  const all = await ids('units');
  const { body, headers } = await make(server, { call: 'GET /ontologies/units?limit=10&offset=20', expect: 200 });
  assert.deepEqual(body.map(({ id }: { id: string }) => id), all.slice(20, 30)); // biome-ignore format: one line
  assert.equal(headers['x-total-count'], String(all.length));
  assert.match(String(headers.link), /offset=30>; rel="next", .*offset=10>; rel="prev"/);
});

test('everybody reads them, nobody writes them, and a sensor may hold any text', async () => {
  const json = {
    id: 'd',
    sensors: [{ id: 's', quantity_kind: 'how it feels', unit: 'smileys', sensing_device: 'me' }],
  };
  await makeAll(server, [
    { as: 'stranger', call: 'GET /ontologies/units?limit=1', expect: 200 },
    { as: 'admin', call: 'GET /ontologies/units?limit=1', expect: 200 },
    { as: 'admin', call: 'POST /ontologies/units', json: {}, expect: 405 },
    { call: 'GET /ontologies/units?limit=0', expect: 400 },
    { call: 'GET /ontologies/units?label=a&label=b', expect: 400 },
    { call: 'GET /ontologies/wishes', expect: 404 },
    { call: 'POST /devices', json, expect: 204 },
  ]);
});
