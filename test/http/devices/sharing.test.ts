// Lists of shares, and explanations of why a user has which rights on a device (contract 3 and 10).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { addUsers, removeUser } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const names = ['devices:view', 'devices:update', 'devices:delete', 'devices-data:view', 'devices-data:create'];

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['admin-2', 'fourth', 'pusher'], server.clock);
  const share = (by: string, device: string, user: string, scopes: readonly string[]) => {
    return { as: by, call: `PUT /devices/${device}/shares/${user}`, json: { scopes }, expect: 204 };
  };
  await makeAll(server, [
    { as: 'owner', call: 'POST /devices', json: { id: 'd1', name: 'First' }, expect: 204 },
    { as: 'owner', call: 'POST /devices', json: { id: 'd2', visibility: 'public' }, expect: 204 },
    { as: 'stranger', call: 'POST /devices', json: { id: 'd3' }, expect: 204 },
    { as: 'owner', call: 'POST /devices', json: { id: 'd4' }, expect: 204 },
    share('owner', 'd1', 'sharer', ['device:view', 'device-data:create']),
    share('admin', 'd1', 'fourth', ['device-data:view']),
    share('owner', 'd2', 'sharer', ['device:update']),
    share('stranger', 'd3', 'sharer', ['device:delete']),
    share('stranger', 'd3', 'owner', ['device:view']),
  ]);
});
after(() => server.stop());

suite('the list of shares', () => {
  const list = async (as: string, query = '') => make(server, { as, call: `GET /auth/shares${query}`, expect: 200 });
  const shortOf = async (as: string, query: string) =>
    (await list(as, query)).body.map(
      ({ device, username }: { device: string; username: string }) => `${device} ${username}`,
    );

  test('has what is shared with me, by whom, and what for', async () => {
    const { body, headers } = await list('sharer');
    assert.equal(headers['x-total-count'], '3');
    assert.deepEqual(
      body,
      [
        ...[
          {
            device: 'd1',
            name: 'First',
            owner: 'owner',
            username: 'sharer',
            scopes: ['device:view', 'device-data:create'],
          },
        ],
        ...[{ device: 'd2', owner: 'owner', username: 'sharer', scopes: ['device:update'] }],
        ...[{ device: 'd3', owner: 'stranger', username: 'sharer', scopes: ['device:delete'] }],
      ].map((share) => ({ ...share, given_by: share.owner })),
    );
    assert.deepEqual((await list('sharer', '?direction=with-me')).body, body);
  });

  test('has what I share, by device and username, and nothing of others', async () => {
    assert.deepEqual(await shortOf('owner', '?direction=by-me'), ['d1 fourth', 'd1 sharer', 'd2 sharer']);
    assert.deepEqual(await shortOf('owner', ''), ['d3 owner']);
    assert.deepEqual(await shortOf('stranger', '?direction=by-me'), ['d3 owner', 'd3 sharer']);
    for (const as of ['guest', 'admin', 'fourth']) assert.deepEqual(await shortOf(as, '?direction=by-me'), [], as);
    assert.deepEqual(await shortOf('guest', ''), []);
  });

  test('tells who may not view a device its id, by which they push, but not its name', async () => {
    const json = { id: 'named', name: 'Behind the vault', visibility: 'private', sensors: [{ id: 's' }] };
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json, expect: 204 },
      { as: 'owner', call: 'PUT /devices/named/shares/pusher', json: { scopes: ['device-data:create'] }, expect: 204 },
    ]);
    const shared = async (as: string, query = '') => (await list(as, query)).body.at(-1);
    const told = async () => Object.keys(await shared('pusher'));
    assert.deepEqual((await shared('pusher')).device, 'named');
    assert.ok(!(await told()).includes('name'));
    assert.equal((await shared('owner', '?direction=by-me')).name, 'Behind the vault');
    // Another id is told to them, because that of before ends, and they go on pushing.
    await makeAll(server, [
      { as: 'owner', call: 'PUT /devices/named/id', text: 'vault', expect: 204 },
      { as: 'pusher', call: 'POST /devices/vault/sensors/s/values', json: { value: 1 }, expect: 204 },
    ]);
    assert.deepEqual((await shared('pusher')).device, 'vault');
    assert.ok(!(await told()).includes('name'));
    await make(server, { as: 'owner', call: 'PUT /devices/vault/visibility', text: 'public', expect: 204 });
    assert.equal((await shared('pusher')).name, 'Behind the vault');
    await make(server, { as: 'owner', call: 'DELETE /devices/vault', expect: 204 });
  });

  test('comes in pages', async () => {
    const page = await list('sharer', '?limit=1&offset=1');
    assert.deepEqual([page.body.length, page.body[0].device, page.headers['x-total-count']], [1, 'd2', '3']);
    assert.match(page.headers.link as string, /rel="next".*rel="prev"/);
    assert.deepEqual((await list('sharer', '?offset=1e18')).body, []);
    for (const query of ['limit=0', 'limit=1001', 'offset=-1', 'direction=both'])
      await make(server, { as: 'owner', call: `GET /auth/shares?${query}`, expect: 400 });
  });

  test('ends when a device is handed over; the new owner, who takes the shares up again, ends them as their own', async () => {
    await makeAll(server, [
      { as: 'owner', call: 'POST /devices', json: { id: 'd5' }, expect: 204 },
      { as: 'owner', call: 'PUT /devices/d5/shares/sharer', json: { scopes: ['device:view'] }, expect: 204 },
      { as: 'owner', call: 'PUT /devices/d5/owner', text: 'fourth', expect: 204 },
    ]);
    assert.deepEqual(await shortOf('fourth', '?direction=by-me'), []);
    await make(server, { as: 'fourth', call: 'PUT /users/me/received/d5', json: { shares: 'keep' }, expect: 204 });
    assert.deepEqual(await shortOf('fourth', '?direction=by-me'), ['d5 sharer']);
    assert.ok(!(await shortOf('owner', '?direction=by-me')).includes('d5 sharer'));
    await make(server, { as: 'fourth', call: 'DELETE /devices/d5/shares/sharer', expect: 204 });
    assert.deepEqual(await shortOf('fourth', '?direction=by-me'), []);
  });

  test('of guest is there where guests may act as owners', async () => {
    await makeAll(server, [
      { call: 'POST /devices', json: { id: 'd6' }, expect: 204 },
      { as: 'admin', call: 'PUT /devices/d6/shares/sharer', json: { scopes: ['device:update'] }, expect: 204 },
    ]);
    assert.deepEqual(await shortOf('guest', '?direction=by-me'), ['d6 sharer']);
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
    assert.deepEqual(await shortOf('guest', '?direction=by-me'), []);
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    await make(server, { call: 'GET /auth/shares', expect: 401 });
    await server.restart();
  });
});

suite('an explanation', () => {
  const explain = async (as: string, device: string, username?: string) => {
    const query = username === undefined ? '' : `?username=${username}`;
    const call = `GET /devices/${device}/permissions/explain${query}`;
    const { body } = await make(server, { as, call, expect: 200 });
    return body;
  };
  const reasonsOf = (body: { scopes: { scope: string; held: boolean; from: object[] }[] }) => {
    assert.deepEqual(
      body.scopes.map(({ scope }) => scope),
      names,
    );
    for (const { held, from } of body.scopes) assert.equal(held, from.length > 0);
    return body.scopes.map(({ from }) => from.map((reason) => Object.values(reason).join(' ')).join(', '));
  };

  test('names all that gives each right', async () => {
    const rows: readonly (readonly [
      device: string,
      username: string,
      reasons: readonly string[],
      actuators: boolean,
    ])[] = [
      ['d1', 'owner', ['owner', 'owner', 'owner', 'owner', 'owner'], true],
      ['d1', 'admin', ['admin', 'admin', 'admin', 'admin', 'admin'], true],
      ['d1', 'stranger', ['', '', '', '', ''], false],
      ['d1', 'guest', ['', '', '', '', ''], false],
      ['d1', 'sharer', ['share owner', '', '', '', 'share owner'], true],
      ['d1', 'fourth', ['', '', '', 'share admin', ''], false],
      ['d2', 'owner', ['owner, public', 'owner', 'owner', 'owner, public', 'owner, public'], true],
      ['d2', 'sharer', ['public', 'share owner', '', 'public', 'public'], true],
      ['d2', 'guest', ['public', '', '', 'public', 'public'], false],
    ];
    for (const [device, username, reasons, actuators] of rows) {
      const body = await explain('owner', device, username);
      assert.deepEqual(reasonsOf(body), reasons, `${device} ${username}`);
      assert.deepEqual([body.device, body.username, body.may_set_actuators], [device, username, actuators]);
      assert.ok(body.detail.includes(username));
      assert.deepEqual(await explain('admin', device, username), body);
      if (username !== 'guest') assert.deepEqual(await explain(username, device), body);
    }
    assert.deepEqual(await explain('guest', 'd2'), await explain('owner', 'd2', 'guest'));
  });

  test('of others is for the owner and admins; who asks about others learns nothing of them', async () => {
    const call = (as: string, device: string, username: string, expect: number) => {
      return { as, call: `GET /devices/${device}/permissions/explain?username=${username}`, expect };
    };
    await makeAll(server, [
      ...['guest', 'stranger', 'sharer'].flatMap((as) => [
        call(as, 'd1', 'owner', 403),
        call(as, 'd1', 'nobody', 403),
        call(as, 'd2', 'fourth', 403),
        call(as, 'nowhere', as, 404),
      ]),
      call('owner', 'd1', 'nobody', 404),
      call('owner', 'd1', '', 400),
      call('stranger', 'd1', 'stranger', 200),
      call('guest', 'd1', 'guest', 200),
    ]);
    assert.doesNotMatch(JSON.stringify(await explain('stranger', 'd1')), /"owner"|First/);
  });

  test('outlives who gave the share', async () => {
    await addUsers(server.folder, ['admin-fleeting'], server.clock);
    const json = { scopes: ['device:view'] };
    await make(server, { as: 'admin-fleeting', call: 'PUT /devices/d4/shares/fourth', json, expect: 204 });
    assert.equal(reasonsOf(await explain('fourth', 'd4'))[0], 'share admin-fleeting');
    await removeUser(server.folder, 'admin-fleeting');
    assert.equal(reasonsOf(await explain('fourth', 'd4'))[0], 'share');
    assert.equal(
      (await make(server, { as: 'fourth', call: 'GET /auth/shares', expect: 200 })).body.at(-1).given_by,
      undefined,
    );
  });

  test('tells guests that they may not act as owners', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
    assert.deepEqual(reasonsOf(await explain('guest', 'd6')), ['public', '', '', 'public', 'public']);
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    assert.deepEqual(reasonsOf(await explain('admin', 'd6', 'guest')), ['', '', '', '', '']);
    await make(server, { call: 'GET /devices/d6/permissions/explain', expect: 401 });
    await server.restart();
  });
});

test('permission queries list gateways and projects like devices', async () => {
  await makeAll(server, [
    { as: 'owner', call: 'POST /gateways', json: { id: 'g1' }, expect: 200 },
    { as: 'stranger', call: 'POST /gateways', json: { id: 'g2', visibility: 'public' }, expect: 200 },
    { call: 'POST /gateways', json: { id: 'g3' }, expect: 200 },
    { as: 'owner', call: 'POST /projects', json: { id: 'p1' }, expect: 200 },
    { call: 'POST /projects', json: { id: 'p2' }, expect: 200 },
  ]);
  const all = (kind: string) => [`${kind}:view`, `${kind}:update`, `${kind}:delete`];
  const of = (resource: string, scopes: readonly string[]) => ({ resource, scopes });
  const view = ['gateways:view'];
  const rows: readonly (readonly [as: string, gateways: readonly object[], projects: readonly object[]])[] = [
    ['guest', [of('g2', view), of('g3', all('gateways'))], [of('p2', all('projects'))]],
    ['owner', [of('g1', all('gateways')), of('g2', view), of('g3', view)], [of('p1', all('projects'))]],
    ['stranger', [of('g2', all('gateways')), of('g3', view)], []],
    [
      'admin',
      ['g1', 'g2', 'g3'].map((id) => of(id, all('gateways'))),
      ['p1', 'p2'].map((id) => of(id, all('projects'))),
    ],
  ];
  for (const [as, gateways, projects] of rows) {
    const answers = await makeAll(server, [
      { as, call: 'GET /auth/permissions/gateways', expect: 200 },
      { as, call: 'GET /auth/permissions/projects', expect: 200 },
      { as, call: 'GET /auth/permissions/gateways?limit=1&offset=1', expect: 200 },
    ]);
    assert.deepEqual(
      answers.map(({ body }) => body),
      [gateways, projects, gateways.slice(1, 2)],
      as,
    );
    assert.equal(answers[2]?.headers['x-total-count'], String(gateways.length));
  }
});
