// Every endpoint of a device with every kind of caller: who may, and that a refused call changes nothing (contract 3,
// I6).
import { after, before, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

/** One user for each scope that a share can give; each is given exactly that one. */
const shares = {
  viewer: 'device:view',
  updater: 'device:update',
  deleter: 'device:delete',
  reader: 'device-data:view',
  pusher: 'device-data:create',
} as const;

const everybody = ['guest', 'stranger', ...Object.keys(shares), 'owner', 'admin'];

interface Endpoint extends Carries {
  /** Method and path below the device. */
  readonly call: string;
  readonly done?: number;
  /** Who may on a private device, beside its owner and admins. */
  readonly private: string;
  /** Who may on a public device, beside them; `*` is everybody. */
  readonly public: string;
}

const meta = { json: { a: 1 } };
const text = { text: 'new' };
const calib = { json: { linear: { enabled: false } } };
const view = { private: 'viewer', public: '*', done: 200 };
const update = { private: 'updater', public: 'updater' };
const dataView = { private: 'reader', public: '*', done: 200 };
const dataCreate = { private: 'pusher', public: '*' };
const setValue = { private: 'updater pusher', public: 'updater pusher' };
const ownerAlone = { private: '', public: '' };

const endpoints: readonly Endpoint[] = [
  { call: 'GET ', ...view },
  { call: 'PUT /name', ...text, ...update },
  { call: 'PUT /gateway_id', ...text, ...update },
  { call: 'PUT /domain', ...text, ...update },
  { call: 'PUT /visibility', text: 'private', ...update },
  { call: 'PUT /location', json: { latitude: 1, longitude: 2 }, ...update },
  { call: 'PUT /meta', ...meta, ...update },
  { call: 'PUT /deployed', json: true, ...update },
  { call: 'PUT /retention_days', json: 30, ...update },
  { call: 'PUT /owner', text: 'stranger', ...ownerAlone },
  { call: 'DELETE ', private: 'deleter', public: 'deleter' },
  { call: 'GET /drops', done: 200, ...ownerAlone },
  { call: 'GET /shares', done: 200, ...ownerAlone },
  { call: 'PUT /shares/stranger', json: { scopes: ['device:view'] }, ...ownerAlone },
  { call: 'DELETE /shares/viewer', ...ownerAlone },
  { call: 'GET /sensors', ...view },
  { call: 'POST /sensors', json: { id: 's2' }, ...update },
  { call: 'POST /sensors', json: { id: 's1', name: 'replaced' }, ...update },
  { call: 'GET /sensors/s1', ...view },
  { call: 'DELETE /sensors/s1', ...update },
  { call: 'PUT /sensors/s1/retention_days', json: 30, ...update },
  { call: 'PUT /sensors/s1/name', ...text, ...update },
  { call: 'PUT /sensors/s1/sensing_device', ...text, ...update },
  { call: 'PUT /sensors/s1/sensor_kind', ...text, ...update },
  { call: 'PUT /sensors/s1/quantity_kind', ...text, ...update },
  { call: 'PUT /sensors/s1/unit', ...text, ...update },
  { call: 'PUT /sensors/s1/calib', ...calib, ...update },
  { call: 'PUT /sensors/s1/meta', ...meta, ...update },
  { call: 'POST /sensors/s1/values', json: { value: 2 }, ...dataCreate },
  { call: 'POST /sensors/s1/value', json: [{ value: 2 }, { value: 3 }], ...dataCreate },
  { call: 'POST /sensors/s1/value', text: 'two', ...dataCreate },
  { call: 'GET /sensors/s1/values', ...dataView },
  { call: 'GET /sensors/s1/values?format=csv', ...dataView },
  { call: 'GET /sensors/s1/values?lastN=1&format=ndjson', ...dataView },
  { call: 'DELETE /sensors/s1/values?timestamp=2020-01-01', ...update, done: 200 },
  // Who cannot read values does not choose by them.
  {
    call: 'DELETE /sensors/s1/values?dateFrom=2020-01-01&dateTo=2021-01-01&value=1',
    private: '',
    public: 'updater',
    done: 200,
  },
  { call: 'PUT /sensors/s1/values/2026-01-10', json: { value: 2 }, ...update },
  { call: 'GET /actuators', ...view },
  { call: 'POST /actuators', json: { id: 'a2' }, ...update },
  { call: 'POST /actuators', json: { id: 'a1', value: 'open' }, ...update },
  { call: 'GET /actuators/a1', ...view },
  { call: 'DELETE /actuators/a1', ...update },
  { call: 'PUT /actuators/a1/name', ...text, ...update },
  { call: 'PUT /actuators/a1/actuator_kind', ...text, ...update },
  { call: 'PUT /actuators/a1/value_type', text: 'string', ...update },
  { call: 'PUT /actuators/a1/meta', ...meta, ...update },
  // Strangers open no valves: what public visibility gives everyone does not set actuators.
  { call: 'PUT /actuators/a1/value', json: 'open', ...setValue },
];

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, Object.keys(shares), server.clock);
});
after(() => server.stop());

for (const visibility of ['private', 'public'] as const) {
  suite(`on a ${visibility} device`, () => {
    for (const endpoint of endpoints) {
      const { call, done = 204, private: onPrivate, public: onPublic, ...carries } = endpoint;
      const others = (visibility === 'private' ? onPrivate : onPublic).split(' ').filter((name) => name !== '');
      test(`${call} is for ${others.includes('*') ? 'everybody' : ['owner', 'admin', ...others].join(', ')}`, async () => {
        const [method, path] = call.split(' ');
        let id = await makeDevice(visibility);
        for (const as of everybody) {
          const may = as === 'owner' || as === 'admin' || others.includes('*') || others.includes(as);
          await make(server, { as, call: `${method} /devices/${id}${path}`, expect: may ? done : 403, ...carries });
          if (may && method !== 'GET') id = await makeDevice(visibility);
        }
      });
    }
  });
}

test('a right on one device is none on another', async () => {
  const shared = await makeDevice('private');
  const other = `${shared}-other`;
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: other }, expect: 204 });
  await makeAll(server, [
    { as: 'viewer', call: `GET /devices/${shared}`, expect: 200 },
    { as: 'viewer', call: `GET /devices/${other}`, expect: 403 },
  ]);
});

let devices = 0;

async function makeDevice(visibility: 'public' | 'private'): Promise<string> {
  devices += 1;
  const id = `device-${devices}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1', value: 'closed' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  const json = { value: 1, timestamp: '2026-01-10T00:00:00Z' };
  await server.call('owner', 'POST', `/devices/${id}/sensors/s1/value`, { json });
  for (const [name, scope] of Object.entries(shares)) {
    await server.call('owner', 'PUT', `/devices/${id}/shares/${name}`, { json: { scopes: [scope] } });
  }
  return id;
}
