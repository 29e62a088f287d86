// A kill while a gateway is being given what it missed: no value is given twice, whatever the moment, and what was not
// given before stays, or is shown as not delivered (contract 6, decision 38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'mqtt';
import { limits } from '../../../src/config/limits.ts';
import { adminPassword, Dundun } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const devices = Array.from({ length: 40 }, (_, n) => `d${n}`);

interface Shown {
  readonly delivered: boolean;
}

test('a value is never given twice, wherever the service is killed while it hands over', async () => {
  let server = new Dundun();
  await server.ready;
  const { folder } = server;
  let token = await signIn(server);
  const call = async (method: string, path: string, json?: unknown): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${server.ports.http}/api/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };
  await call('POST', '/gateways', { id: 'mast' });
  for (const id of devices) await call('POST', '/devices', { id, gateway_id: 'mast', actuators: [{ id: 'a' }] });
  const received = new Map<string, number>();

  for (let round = 0; round < 6; round++) {
    await Promise.all(devices.map((id) => call('PUT', `/devices/${id}/actuators/a/value`, round)));
    // Each time a little later in the handover: after none, after some, after nearly all.
    const killAfter = [0, 1, 5, 12, 25, 39][round] as number;
    let came = 0;
    const client = subscribe(server, (id, value) => {
      received.set(`${id} ${value}`, (received.get(`${id} ${value}`) ?? 0) + 1);
      came += 1;
      if (came > killAfter) server.child.kill('SIGKILL');
    });
    if (killAfter === 0) setImmediate(() => server.child.kill('SIGKILL'));
    await server.exit;
    await client.endAsync(true);
    server = new Dundun({ folder });
    await server.ready;
    token = await signIn(server);
    const rest = subscribe(server, (id, value) => {
      received.set(`${id} ${value}`, (received.get(`${id} ${value}`) ?? 0) + 1);
    });
    // A kill costs at most the batch that was claimed at that moment.
    const missing = () => devices.filter((id) => !received.has(`${id} ${round}`));
    await until(() => missing().length <= limits.downlinkBatchMax);
    // What is noted as delivered has come.
    for (const id of missing()) {
      const [newest] = (await call('GET', `/devices/${id}/actuators/a/values?lastN=1`)) as Shown[];
      if (newest?.delivered === true) await until(() => received.has(`${id} ${round}`));
    }
    // Ended before it is connected, it would stay so until its keep-alive runs out.
    await until(() => rest.connected);
    await rest.endAsync();
    await until(async () => !((await call('GET', '/gateways/mast')) as { connected: boolean }).connected);
  }
  const twice = [...received].filter(([, times]) => times > 1);
  assert.deepEqual(twice, []);
  await server.stop();
});

async function signIn(server: Dundun): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${server.ports.http}/api/v2/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: adminPassword }),
  });
  return answer.text();
}

function subscribe(server: Dundun, take: (device: string, value: string) => void) {
  const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
    ...{ clientId: 'mast', clean: true, username: 'admin', password: adminPassword, reconnectPeriod: 0 },
  });
  client.on('message', (topic, payload) => take(topic.split('/')[1] ?? '', payload.toString()));
  client.on('error', () => {});
  client.on('connect', () => client.subscribe('devices/#', { qos: 1 }, () => {}));
  return client;
}
