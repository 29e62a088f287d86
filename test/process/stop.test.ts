// Stopping by a signal: accepted work is finished, everything else is ended, within ten seconds and with exit code 0,
// whatever connections clients keep open.
import assert from 'node:assert/strict';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';
import { Ledger } from '../support/crash/ledger.ts';
import { startPusher } from '../support/crash/pushers.ts';
import { isIntact } from '../support/database.ts';
import { connectMqtt } from '../support/mqtt/mqtt-connection.ts';
import { startPublisher } from '../support/mqtt/mqtt-publisher.ts';
import { call, type Dundun, makeDevice, root, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const stopMsMax = 10_000;
/** For tests of what is stored, not of how long it takes: nothing is cut because the machine is slow. */
const patient = { drainMsMax: 60_000, stopMsMax: 120_000 };

suite('stopping', { timeout: 1_800_000 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} amid pushes: what was acknowledged is there, what was not is not`, async () => {
      const dundun = await startDundun(withLimits(patient));
      const ledger = new Ledger('d');
      await makeDevice(dundun, 'd', ['one', 'many', 'mqtt']);
      const pushers = [
        ...Array.from({ length: 8 }, () => startPusher({ server: dundun, ledger, sensor: 'one' })),
        ...Array.from({ length: 2 }, () => startPusher({ server: dundun, ledger, sensor: 'many', size: () => 500 })),
      ];
      await until(() => ledger.count('stored') >= 200);
      const exit = await dundun.stop(signal);
      await Promise.all(pushers.map((pusher) => pusher.done));
      assert.deepEqual(exit, { code: 0, signal: null });
      const again = await startDundun({ folder: dundun.folder });
      const { openStored } = await ledger.verify(again);
      assert.equal(openStored, 0, 'what a graceful stop stored was acknowledged');
      await again.stop();
    });
  }

  test('SIGTERM amid MQTT publishes without an end: what was acknowledged is there', async () => {
    const dundun = await startDundun(withLimits({ ...patient, drainMsMax: 1_000 }));
    const ledger = new Ledger('d');
    await makeDevice(dundun, 'd', ['qos1', 'qos2']);
    const publishers = [];
    for (const qos of [1, 2] as const)
      for (let i = 0; i < 5; i++) {
        const options = { ledger, sensor: `qos${qos}`, qos, clientId: `p${qos}${i}`, window: 200 };
        publishers.push(await startPublisher(dundun.ports, options));
      }
    await until(() => ledger.count('stored') >= 1000);
    assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
    await Promise.all(publishers.map((publisher) => publisher.closed));
    const again = await startDundun({ folder: dundun.folder });
    await ledger.verify(again);
    await again.stop();
  });

  test('connections that idle, speak half a request or wait for nothing do not hold it up', async () => {
    // After so long half a request is cut: little beside the time that a stop may take, whose rest is for a slow machine.
    const dundun = await startDundun(withLimits({ drainMsMax: 1_000 }));
    const port = dundun.ports.http;
    const silent = await open(port);
    const half = await open(port);
    half.write(
      'POST /api/v2/devices HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"i',
    );
    const halfHead = await open(port);
    halfHead.write('GET /health/live HTTP/1.1\r\nHo');
    const idle = await open(port);
    idle.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => idle.once('data', resolve));
    const webSocket = new WebSocket(`ws://127.0.0.1:${port}/mqtt`, 'mqtt');
    await new Promise((resolve) => webSocket.once('open', resolve));
    const mqttSilent = await open(dundun.ports.mqtt as number);
    const { connection } = await connectMqtt(dundun.ports.mqtt as number, { clientId: 'idle' });
    const closed = [silent, half, halfHead, idle, mqttSilent].map(ended);
    const gone = new Promise((resolve) => webSocket.once('close', resolve));
    assert.deepEqual(await stopInTime(dundun, 'SIGTERM'), { code: 0, signal: null });
    await Promise.all([...closed, gone, connection.closed]);
    assert.ok(isIntact(dundun.folder));
  });

  for (const which of ['first', 'second'] as const) {
    test(`a push whose body still arrives when the stop begins is finished, the ${which} of its connection`, async () => {
      const dundun = await startDundun(withLimits(patient));
      await makeDevice(dundun, 'd', ['s']);
      const agent = new Agent({ keepAlive: true });
      const body = JSON.stringify({ value: 4711 });
      const push = () =>
        request(`${dundun.url}/api/v2/devices/d/sensors/s/values`, {
          agent,
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': body.length },
        });
      const answerOf = (asked: ClientRequest) =>
        new Promise<IncomingMessage>((resolve, reject) => {
          asked.once('response', (answer) => resolve(answer.resume()));
          asked.once('error', reject);
        });
      if (which === 'second') {
        assert.equal((await answerOf(push().end(body))).statusCode, 204);
        await until(() => Object.keys(agent.freeSockets).length > 0);
      }
      const slow = push();
      slow.write(body.slice(0, 5));
      // An answer on another connection says that the server has seen the first half.
      await call(dundun, '/health/live');
      const answered = answerOf(slow);
      dundun.child.kill('SIGTERM');
      await refusesConnections(dundun.ports.http);
      slow.end(body.slice(5));
      assert.ok([204, 503].includes((await answered).statusCode ?? 0));
      assert.deepEqual(await dundun.exit, { code: 0, signal: null });
    });
  }

  test('a second and a third signal do no harm', async () => {
    const dundun = await startDundun(withLimits({ ...patient, drainMsMax: 500 }));
    const ledger = new Ledger('d');
    await makeDevice(dundun, 'd', ['s']);
    const pushers = Array.from({ length: 4 }, () =>
      startPusher({ server: dundun, ledger, sensor: 's', size: () => 2000 }),
    );
    await until(() => ledger.count('stored') >= 10);
    const half = await open(dundun.ports.http);
    half.write('GET /health/live HTTP/1.1\r\nHo');
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGINT'] as const) {
      dundun.child.kill(signal);
      // Each falls into another part of the stop, which takes half a second at least.
      await pause(20);
    }
    assert.deepEqual(await dundun.exit, { code: 0, signal: null });
    await Promise.all(pushers.map((pusher) => pusher.done));
    const again = await startDundun({ folder: dundun.folder });
    await ledger.verify(again);
    await again.stop();
  });

  for (const version of [process.version, 'v20.20.2']) {
    test(`the launcher under ${version} passes the signal on and gives the exit code back`, async () => {
      const preload = `data:text/javascript,Object.defineProperty(process,'version',{value:'${version}'})`;
      const launcher = join(root, 'bin/dundun.js');
      const command = [process.execPath, '--import', preload, launcher, 'serve'];
      const first = await startDundun({ command });
      await makeDevice(first, 'd', ['s']);
      assert.deepEqual(await stopInTime(first, 'SIGINT'), { code: 0, signal: null });
      const second = await startDundun({ folder: first.folder, command });
      assert.deepEqual(await stopInTime(second, 'SIGTERM'), { code: 0, signal: null });
    });
  }
});

/** Sends the signal; fails when the process is still there after the time a stop may take. */
async function stopInTime(dundun: Dundun, signal: NodeJS.Signals) {
  const startMs = performance.now();
  const exit = await dundun.stop(signal);
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs < stopMsMax, `it took ${Math.round(tookMs)} ms\n${dundun.stderr}`);
  return exit;
}

function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  return new Promise((resolve, reject) => socket.once('connect', () => resolve(socket)).once('error', reject));
}

function ended(socket: Socket): Promise<void> {
  socket.resume();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

async function refusesConnections(port: number): Promise<void> {
  await until(async () => {
    const socket = await open(port).catch(() => undefined);
    socket?.destroy();
    return socket === undefined;
  });
}
