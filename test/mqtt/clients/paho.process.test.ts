// Paho's client of Python with MQTT 3.1, 3.1.1 and 5: another implementation, found in Debian's python3-paho-mqtt.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const python = process.env['DUNDUN_TEST_PAHO'];
const skip = python === undefined ? 'Paho is missing' : false;
const script = fileURLToPath(new URL('paho-client.py', import.meta.url));

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'well', sensors: [{ id: 'level' }] } });
});
after(() => server.stop());

for (const version of [3, 4, 5]) {
  test(`Paho with level ${version}: readings of each QoS are stored, messages come back, properties with version 5`, {
    skip,
  }, async () => {
    const args = [script, String(server.running.ports.mqtt), String(version), 'owner', password];
    const { stdout } = await promisify(execFile)(python as string, args);
    const { heard } = JSON.parse(stdout);
    const properties =
      version === 5
        ? {
            contentType: 'text/plain',
            userProperty: [
              ['b', '1'],
              ['a', '2'],
            ],
          }
        : { contentType: null, userProperty: null };
    assert.deepEqual(
      heard.toSorted((a: { qos: number }, b: { qos: number }) => a.qos - b.qos),
      [0, 1, 2].map((qos) => ({ payload: `hello ${qos}`, qos, ...properties })),
    );
    await server.running.idle();
    const { body } = await server.call('owner', 'GET', '/devices/well/sensors/level/values?limit=100');
    const values = body
      .map(({ value }: { value: number }) => value)
      .filter((value: number) => Math.floor(value / 10) === version);
    assert.deepEqual(
      values.toSorted(),
      [0, 1, 2].map((qos) => version * 10 + qos),
    );
  });
}
