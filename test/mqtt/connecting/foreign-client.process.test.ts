// Mosquitto's command-line clients, another implementation of MQTT, used as the README shows.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const pub = process.env['DUNDUN_TEST_MOSQUITTO_PUB'];
const sub = process.env['DUNDUN_TEST_MOSQUITTO_SUB'];
const skip = pub === undefined || sub === undefined ? 'the mosquitto clients are missing' : false;

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

test('a reading published by mosquitto_pub is stored, and mosquitto_sub gets it', { skip }, async () => {
  await server.call('owner', 'POST', '/devices', { json: { id: 'well', sensors: [{ id: 'level' }] } });
  const listening = run(sub, [...signIn(), '-t', 'devices/well/#', '-t', 'users/owner/#', '-v', '-q', '1']);
  const lines = createInterface({ input: listening.stdout as NodeJS.ReadableStream });
  const all: string[] = [];
  lines.on('line', (line) => all.push(line));
  const publish = async (topic: string, qos: string, message: string) =>
    assert.equal(await ended(run(pub, [...signIn(), '-q', qos, '-t', topic, '-m', message])), 0);
  // It does not say when it has subscribed, so it is greeted until it hears that.
  await until(async () => {
    await publish('users/owner/greeting', '0', 'hello');
    return all.length > 0;
  });
  const heard = () => all.filter((line) => line.startsWith('devices/'));
  for (const [n, qos] of ['0', '1', '2'].entries()) {
    const slash = qos === '2' ? '/' : '';
    await publish(`${slash}devices/well/sensors/level/value`, qos, `{"value": ${qos}.5}`);
    await until(() => heard().length > n);
  }
  listening.kill();
  assert.deepEqual(
    heard(),
    ['0', '1', '2'].map((qos) => `devices/well/sensors/level/value {"value": ${qos}.5}`),
  );
  const { body } = await server.call('owner', 'GET', '/devices/well/sensors/level/values');
  assert.deepEqual(
    body.map(({ value }: { value: number }) => value),
    [0.5, 1.5, 2.5],
  );
});

test('a wrong password is refused, and a guest learns nothing of a private device', { skip }, async () => {
  const port = String(server.running.ports.mqtt);
  const wrong = ['-h', '127.0.0.1', '-p', port, '-u', 'owner', '-P', 'wrong', '-t', 'devices/well/sensors/level/value'];
  assert.notEqual(await ended(run(pub, [...wrong, '-q', '1', '-m', '{"value":9}'])), 0);
  const guest = ['-h', '127.0.0.1', '-p', port, '-t', 'devices/well/sensors/level/value'];
  // The sender gets no error; nothing is stored.
  assert.equal(await ended(run(pub, [...guest, '-q', '1', '-m', '{"value":9}'])), 0);
  const { body } = await server.call('owner', 'GET', '/devices/well/sensors/level');
  assert.notEqual(body.last_value?.value, 9);
});

test('mosquitto_sub reads $SYS as an admin, and a value comes at once', { skip }, async () => {
  const asked = ['-t', '$SYS/broker/clients/connected', '-C', '1', '-W', '60', '-F', '%r %t %p'];
  const child = run(sub, [...signIn('admin'), ...asked]);
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  assert.equal(line, '1 $SYS/broker/clients/connected 1');
  assert.equal(await ended(child), 0);
});

function signIn(as = 'owner'): string[] {
  return ['-h', '127.0.0.1', '-p', String(server.running.ports.mqtt), '-u', as, '-P', password];
}

function run(program: string | undefined, args: readonly string[]): ChildProcess {
  return spawn(program as string, args, { stdio: ['ignore', 'pipe', 'ignore'] });
}

function ended(child: ChildProcess): Promise<number | null> {
  child.stdout?.resume();
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('exit', resolve));
}
