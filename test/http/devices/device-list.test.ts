// The list of devices (spec 4.1, contract 1): pages, bounds, and the q filter with all of its operators.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';

const devices: readonly Record<string, unknown>[] = [
  {
    id: 'a1',
    name: 'Alpha',
    domain: 'farm',
    gateway_id: 'g1',
    visibility: 'public',
    location: { latitude: 5, longitude: -1.5 },
    meta: { floor: 1, tag: 'north', ok: true, deep: { er: 'x' } },
    deployed: true,
    sensors: [{ id: 'TC', unit: 'K', name: 'Air', quantity_kind: 'temperature', sensing_device: 'probe' }],
  },
  {
    id: 'a2',
    name: '10',
    domain: 'farm',
    gateway_id: 'g2',
    location: { latitude: 50, longitude: 1 },
    meta: { floor: 2, tag: 'south', ok: false },
    deployed: false,
    sensors: [{ id: 'TC' }, { id: 'RH', unit: '%', meta: { slot: 3 } }],
    actuators: [{ id: 'valve', actuator_kind: 'valve', value_type: 'bool', value: true }],
  },
  { id: 'a3', name: 'a,b', domain: 'city', meta: { floor: 10, tag: '5' } },
  { id: 'a4', name: "O'Brien %_\\", domain: 'Farm' },
  { id: 'a5' },
];

before(async () => {
  server = await TestServer.start();
  for (const json of devices) {
    const { status } = await server.call(as, 'POST', '/devices', { json });
    assert.equal(status, 204);
    server.clock.advance(1_000);
  }
  await server.call('stranger', 'POST', '/devices', { json: { id: 'b1', domain: 'farm' } });
  await server.call('guest', 'POST', '/devices', { json: { id: 'c1', domain: 'farm' } });
});
after(() => server.stop());

const list = async (query: string, who = as) => {
  const answer = await make(server, { as: who, call: `GET /devices${query}`, expect: 200 });
  return { ...answer, ids: answer.body.map((device: { id: string }) => device.id) as string[] };
};

suite('the filter', () => {
  // Spaces between ids; the list is the owner's view, so b1 is not in it.
  const rows: readonly (readonly [q: string, ids: string])[] = [
    ['', 'a1 a2 a3 a4 a5 c1'],
    ['id==a1', 'a1'],
    ['owner==owner', 'a1 a2 a3 a4 a5'],
    ['owner==guest', 'c1'],
    ['owner==stranger', ''],
    ['owner!=owner', 'c1'],
    ['name==Alpha', 'a1'],
    ['name==alpha', ''],
    ['name==10', 'a2'],
    ["name==O'Brien %_\\", 'a4'],
    ['name!=Alpha', 'a2 a3 a4 a5 c1'],
    ['name==a,b', ''],
    ['name==a%2Cb', 'a3'],
    ['name==Alpha,a%2cb', 'a1 a3'],
    ['name>=O', 'a3 a4'],
    ['domain==farm', 'a1 a2 c1'],
    ['domain==farm,city', 'a1 a2 a3 c1'],
    ['domain!=farm,city', 'a4 a5'],
    ['domain>city', 'a1 a2 c1'],
    ['domain<city', 'a4'],
    ['domain<=city', 'a3 a4'],
    ['gateway_id==g1,g2', 'a1 a2'],
    ['gateway_id!=g1', 'a2 a3 a4 a5 c1'],
    ['visibility==public', 'a1 c1'],
    ['visibility!=public', 'a2 a3 a4 a5'],
    ['deployed==true', 'a1'],
    ['deployed==false', 'a2'],
    ['deployed!=true', 'a2 a3 a4 a5 c1'],
    ['location.latitude>5', 'a2'],
    ['location.latitude>=5', 'a1 a2'],
    ['location.latitude<50', 'a1'],
    ['location.latitude==5', 'a1'],
    ['location.latitude==5.0', 'a1'],
    ['location.latitude==5e0', 'a1'],
    ['location.latitude!=5', 'a2 a3 a4 a5 c1'],
    ['location.longitude<-1', 'a1'],
    ['meta.floor>1', 'a2 a3'],
    ['meta.floor==1,10', 'a1 a3'],
    ['meta.tag==north', 'a1'],
    ['meta.tag==5', 'a3'],
    ['meta.ok==true', 'a1'],
    ['meta.ok==false', 'a2'],
    ['meta.ok==1', ''],
    ['meta.deep.er==x', 'a1'],
    ['meta.deep.none==x', ''],
    ['sensors.id==TC', 'a1 a2'],
    ['sensors.id==RH', 'a2'],
    ['sensors.id!=RH', 'a1 a3 a4 a5 c1'],
    ['sensors.id==RH,TC', 'a1 a2'],
    ['sensors.unit==K', 'a1'],
    ['sensors.name==Air', 'a1'],
    ['sensors.quantity_kind==temperature', 'a1'],
    ['sensors.sensing_device==probe', 'a1'],
    ['sensors.meta.slot==3', 'a2'],
    ['actuators.id==valve', 'a2'],
    ['actuators.actuator_kind==valve', 'a2'],
    ['actuators.value_type==bool', 'a2'],
    ['actuators.actuator_value_type==bool', 'a2'],
    ['domain==farm;visibility==public', 'a1 c1'],
    ['domain==farm;visibility==public;owner==owner', 'a1'],
    ['domain==farm;domain==city', ''],
    ['domain==farm;', 'a1 a2 c1'],
    ['domain==', ''],
    ['meta.toString==x', ''],
    ['date_created>2026-01-15T12:00:03Z', 'a5 c1'],
    ['date_created<=2026-01-15T12:00:01Z', 'a1 a2'],
    ['date_created==2026-01-15T13:00:01+01:00', 'a2'],
    ['date_created==2026-01-15T12:00:01Z,2026-01-15T12:00:02Z', 'a2 a3'],
    ['date_created!=2026-01-15T12:00:01Z,2026-01-15T12:00:02Z', 'a1 a4 a5 c1'],
    ['date_created>2026-01-15T12:00:04Z,2026-01-15T12:00:03Z', 'a5 c1'],
    ['date_created<2026-01-15T12:00:01Z,2026-01-15T12:00:02Z', 'a1 a2'],
    // What deployed clients encode twice arrives as text.
    ['domain%3D%3Dcity', 'a3'],
    ['location.latitude%3E5', 'a2'],
    ['location.latitude%3C%3D5', 'a1'],
    // Whatever SQL would make of it, it is a value.
    ["name=='", ''],
    ["name==' OR 1=1 --", ''],
    ["id==a1' OR 'a'=='a", ''],
    ['name==%', ''],
    ['name==x") OR 1==1 --', ''],
    ['name==\\', ''],
  ];
  for (const [q, ids] of rows) {
    test(`${JSON.stringify(q)} gives ${ids || 'none'}`, async () => {
      const found = await list(`?q=${encodeURIComponent(q)}`);
      assert.equal(found.ids.join(' '), ids);
      assert.equal(found.headers['x-total-count'], String(found.ids.length));
    });
  }

  test('is taken raw and encoded, once or twice', async () => {
    for (const q of ['domain==city', 'domain%3D%3Dcity', 'domain%253D%253Dcity', 'domain=%3Dcity']) {
      assert.deepEqual((await list(`?q=${q}`)).ids, ['a3'], q);
    }
    assert.deepEqual((await list('?q=location.latitude>5;domain==farm')).ids, ['a2']);
    assert.deepEqual((await list('?q=location.latitude%3E5%3Bdomain%3D%3Dfarm')).ids, ['a2']);
  });

  test('sees what is stored now: a push, sealed or not, moves date_modified', async () => {
    const q = '?q=date_modified>2026-01-15T12:30:00Z';
    assert.deepEqual((await list(q)).ids, []);
    server.clock.advance(3_600_000);
    await server.call(as, 'POST', '/devices/a2/sensors/RH/value', { json: { value: 1 } });
    assert.deepEqual((await list(q)).ids, ['a2']);
    await server.running.engine.seal();
    assert.deepEqual((await list(q)).ids, ['a2']);
    assert.deepEqual((await list('?q=date_modified<=2026-01-15T12:30:00Z;owner==owner')).ids, ['a1', 'a3', 'a4', 'a5']);
  });

  const bad = [
    ...['name', 'name=x', 'name~x', 'name=~x', '==x', ' ==x', '!=', 'name===x', 'name=!x', 'name<>x', 'name=<x', '=='],
    ...['a b==x', "na'me==x", 'name"==x', 'location.==5', '.latitude==5', 'location..latitude==5', '1==1', 'a$b==1'],
    ...['domain==farm;x', 'date_created>yesterday', 'date_modified==5', 'sensors.value>1', 'actuators.last_value==1'],
    ...['name==\u0000', Array(21).fill('name==x').join(';'), `name==${'x'.repeat(4096)}`, '(SELECT 1)==1', 'name;DROP'],
  ];
  for (const q of bad) {
    test(`${JSON.stringify(q.slice(0, 40))} is 400`, async () => {
      await make(server, { as, call: `GET /devices?q=${encodeURIComponent(q)}`, expect: 400 });
    });
  }

  test('may not be given twice', async () => {
    await make(server, { as, call: 'GET /devices?q=id==a1&q=id==a2', expect: 400 });
  });
});

suite('everybody', () => {
  const views = { guest: 'a1 c1', stranger: 'a1 b1 c1', owner: 'a1 a2 a3 a4 a5 c1', admin: 'a1 a2 a3 a4 a5 b1 c1' };
  for (const [who, ids] of Object.entries(views)) {
    test(`${who} sees ${ids}, in order of creation`, async () => {
      assert.equal((await list('', who)).ids.join(' '), ids);
      assert.equal((await list('?q=domain==farm;owner==owner', who)).ids.includes('a2'), ids.includes('a2'));
    });
  }

  test('sees each device in a list as alone', async () => {
    for (const device of (await list('', 'owner')).body) {
      const { body } = await make(server, { as, call: `GET /devices/${device.id}`, expect: 200 });
      assert.deepEqual(device, body);
    }
  });
});

suite('pages', () => {
  before(async () => {
    for (let n = 0; n < 45; n++) {
      await server.call('sharer', 'POST', '/devices', { json: { id: `page-${n}`, domain: 'pages' } });
    }
  });
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `page-${from + n}`);
  const q = 'q=domain==pages';

  test('have 20 devices without a limit, up to 1000 with one', async () => {
    assert.deepEqual((await list(`?${q}`, 'sharer')).ids, ids(0, 20));
    assert.deepEqual((await list(`?${q}&limit=1000`, 'sharer')).ids, ids(0, 45));
    assert.deepEqual((await list(`?${q}&limit=10&offset=40`, 'sharer')).ids, ids(40, 45));
    assert.deepEqual((await list(`?${q}&offset=45`, 'sharer')).ids, []);
    assert.deepEqual((await list(`?${q}&offset=9007199254740993`, 'sharer')).ids, []);
  });

  test('lead on and back, keeping the filter, and count all', async () => {
    const seen: string[] = [];
    let next: string | undefined = `?${q}&limit=10`;
    while (next !== undefined) {
      const page = await list(next, 'sharer');
      seen.push(...page.ids);
      assert.equal(page.headers['x-total-count'], '45');
      const link = String(page.headers.link);
      next = /<\/api\/v2\/devices(\?[^>]+)>; rel="next"/.exec(link)?.[1];
      const offset = seen.length - page.ids.length;
      if (offset > 0) assert.match(link, new RegExp(`limit=10&offset=${offset - 10}>; rel="prev"`));
    }
    assert.deepEqual(seen, ids(0, 45));
  });

  for (const query of [
    ...['limit=0', 'limit=-1', 'limit=1001', 'limit=1e3x', 'limit=1.5', 'limit=', 'limit=null', 'limit=1&limit=2'],
    ...['offset=-1', 'offset=', 'offset=x', 'offset=1.5', 'offset=-0.1', 'limit=[5]', 'limit=%00'],
    ...['offset=1e999', 'offset=1e19'],
  ]) {
    test(`with ${query} are 400`, async () => {
      const { body } = await make(server, { as, call: `GET /devices?${query}`, expect: 400 });
      assert.equal(body.errors[0].pointer, `/${query.split('=')[0]}`);
    });
  }
});

suite('what people search for', () => {
  const rows: readonly (readonly [query: string, ids: string])[] = [
    ['?search=ALPH', 'a1'],
    ['?search=A1', 'a1'],
    ['?search=%25', 'a4'],
    ["?search=o'b", 'a4'],
    ['?search=nothing', ''],
    ['?sensor_search=air', 'a1'],
    ['?sensor_search=tc', 'a1 a2'],
    ['?sensor_search=tc&q=deployed==false', 'a2'],
    ['?search=1&limit=1&offset=1', 'a2'],
    ['?order=-created', 'c1 a5 a4 a3 a2 a1'],
    // a2 is called 10, a3 a,b;c; a5 and c1 have no name and are put by their id.
    ['?order=name', 'a2 a3 a5 a1 c1 a4'],
    ['?order=-name&limit=2', 'a4 c1'],
    // A value has come to a2 in a test above.
    ['?order=heard', 'a1 a3 a4 a5 c1 a2'],
    ['?order=-heard&limit=1&offset=1', 'c1'],
    // The others were changed, and never heard.
    ['?q=last_heard>2000-01-01', 'a2'],
    ['?q=last_heard<2000-01-01', ''],
  ];
  for (const [query, ids] of rows) {
    test(`${query} finds ${ids || 'nothing'}`, async () => {
      assert.equal((await list(query)).ids.join(' '), ids);
    });
  }

  test('a device that was changed is not put as if it had been heard', async () => {
    server.clock.advance(60_000);
    await make(server, { as, call: 'PUT /devices/a1/domain', json: 'onions', expect: 204 });
    for (const order of ['-heard&limit=1', 'heard&limit=1&offset=5'])
      assert.deepEqual((await list(`?order=${order}`)).ids, ['a2'], order);
    await make(server, { as, call: 'PUT /devices/a1/domain', json: '', expect: 204 });
  });

  test('what is shared is what somebody shares with the caller, and counted so', async () => {
    await server.call('stranger', 'PUT', '/devices/b1/shares/owner', { json: { scopes: ['device:view'] } });
    const { ids, headers } = await list('?shared=true');
    assert.deepEqual([ids, headers['x-total-count']], [['b1'], '1']);
    for (const who of ['stranger', 'admin', 'guest']) assert.deepEqual((await list('?shared=true', who)).ids, []);
    await server.call('stranger', 'DELETE', '/devices/b1/shares/owner');
  });

  test('an unknown order, an empty or an endless search is 400', async () => {
    for (const query of [
      'order=size',
      'order=',
      'search=',
      `search=${'x'.repeat(257)}`,
      'sensor_search=',
      'shared=maybe',
    ])
      await make(server, { as, call: `GET /devices?${query}`, expect: 400 });
  });
});
