// Mosquitto's command-line clients with MQTT 3.1, 3.1.1 and 5: publishing, subscribing, shared subscriptions, and with
// version 5 properties, and requests with their responses.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { PacketClient } from '../../support/mqtt/packet-client.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const pub = process.env['DUNDUN_TEST_MOSQUITTO_PUB'];
const sub = process.env['DUNDUN_TEST_MOSQUITTO_SUB'];
const rr = process.env['DUNDUN_TEST_MOSQUITTO_RR'];
const skip = pub === undefined || sub === undefined || rr === undefined ? 'the mosquitto clients are missing' : false;
const versions = ['mqttv31', 'mqttv311', 'mqttv5'];

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'well', sensors: [{ id: 'level' }] } });
});
after(() => server.stop());

const signIn = (version: string) => [
  '-V',
  version,
  '-h',
  '127.0.0.1',
  '-p',
  String(server.running.ports.mqtt),
  '-u',
  'owner',
  '-P',
  password,
];

function run(program: string | undefined, args: readonly string[]): ChildProcess {
  return spawn(program as string, args, { stdio: ['ignore', 'pipe', 'ignore'] });
}

async function ended(child: ChildProcess): Promise<number | null> {
  child.stdout?.resume();
  return child.exitCode ?? new Promise((resolve) => child.once('exit', resolve));
}

async function publish(version: string, ...args: string[]): Promise<void> {
  assert.equal(await ended(run(pub, [...signIn(version), ...args])), 0, args.join(' '));
}

/** A subscriber and what it has printed; it is subscribed when this resolves. */
async function listen(
  version: string,
  ...args: string[]
): Promise<{ readonly child: ChildProcess; readonly lines: string[] }> {
  const greeting = `users/owner/greeting-${version}`;
  const child = run(sub, [...signIn(version), ...args, '-t', greeting]);
  const lines: string[] = [];
  const greeted: string[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
    (line.includes('greeting') ? greeted : lines).push(line),
  );
  // It does not say when it has subscribed, so it is greeted until it hears that.
  await until(async () => {
    await publish(version, '-t', greeting, '-m', 'greeting');
    return greeted.length > 0;
  });
  return { child, lines };
}

suite('mosquitto_pub and mosquitto_sub', () => {
  for (const from of versions) {
    test(`${from}: readings are stored with each QoS, and each version hears them`, { skip }, async () => {
      const listeners = await Promise.all(versions.map((to) => listen(to, '-t', 'devices/well/#', '-q', '2')));
      const before = (await server.call('owner', 'GET', '/devices/well/sensors/level/values')).body.length;
      const words = [0, 1, 2].map((qos) => `{"value": ${qos}.5}`);
      for (const [qos, message] of words.entries())
        await publish(from, '-q', String(qos), '-t', 'devices/well/sensors/level/value', '-m', message);
      for (const { lines, child } of listeners) {
        await until(() => lines.length >= words.length, { otherwise: () => JSON.stringify(lines) });
        child.kill();
        assert.deepEqual(lines.toSorted(), words);
      }
      await server.running.idle();
      assert.equal((await server.call('owner', 'GET', '/devices/well/sensors/level/values')).body.length - before, 3);
    });
  }

  test('mqttv5: properties of a message reach a subscriber', { skip }, async () => {
    const format = '%p|%C|%R|%D|%P';
    const { child, lines } = await listen('mqttv5', '-t', 'users/owner/told', '-F', format);
    const told = ['content-type', 'text/plain', 'response-topic', 'users/owner/answer', 'correlation-data', '42'];
    const options = [0, 2, 4].flatMap((n) => ['-D', 'publish', told[n] as string, told[n + 1] as string]);
    await publish(
      'mqttv5',
      '-t',
      'users/owner/told',
      '-m',
      'told',
      '-q',
      '1',
      ...options,
      '-D',
      'publish',
      'user-property',
      'a',
      'b',
    );
    await until(() => lines.length > 0);
    child.kill();
    assert.deepEqual(lines, ['told|text/plain|users/owner/answer|42|a:b']);
  });

  test('mqttv5: a session with an expiry is taken up again, and what waited comes', { skip }, async () => {
    const session = ['-i', 'mosquitto-kept', '-c', '-x', '1000', '-q', '1', '-t', 'users/owner/kept'];
    assert.equal(await ended(run(sub, [...signIn('mqttv5'), ...session, '-E'])), 0);
    await publish('mqttv5', '-q', '1', '-t', 'users/owner/kept', '-m', 'waited');
    const child = run(sub, [...signIn('mqttv5'), ...session, '-C', '1']);
    assert.equal(await text(child.stdout as NodeJS.ReadableStream), 'waited\n');
  });
});

test('mosquitto_rr asks, and gets the response of another client', { skip }, async () => {
  const answers = await PacketClient.open(server);
  await answers.signIn({ clientId: 'answers' });
  await answers.subscribe('users/owner/question');
  const asking = run(rr, [
    ...signIn('mqttv5'),
    '-t',
    'users/owner/question',
    '-e',
    'users/owner/answer',
    '-m',
    '6 x 7?',
    '-q',
    '1',
    '-W',
    '60',
  ]);
  const [question] = await answers.take(1);
  assert.ok(question?.cmd === 'publish');
  const { responseTopic = '', correlationData } = question.properties ?? {};
  await answers.publish({
    topic: responseTopic,
    payload: '42',
    ...(correlationData && { properties: { correlationData } }),
  });
  assert.equal(await text(asking.stdout as NodeJS.ReadableStream), '42\n');
  await answers.leave();
});
