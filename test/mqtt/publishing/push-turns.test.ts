// Usual publishes beyond what one turn of the event loop allows wait in their sockets, and callers are served in turns.
// The time of a turn ends after each group here, so that the test measures no time.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { generate } from 'mqtt-packet';
import { setLimits } from '../../support/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

setLimits({ pushTurnMsMax: 1e-6 });

const connections = 20;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const sensors = Array.from({ length: connections }, (_, n) => ({ id: `s${n}` }));
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors } });
  await server.call('stranger', 'POST', '/devices', { json: { id: 'others', sensors } });
});
after(() => server.stop());

/** Usual publishes of the numbers from 1 on, with those numbers as packet ids. */
const publishes = (topic: string, count: number): Buffer[] =>
  Array.from({ length: count }, (_, n) =>
    generate({ cmd: 'publish', topic, payload: `${n + 1}`, qos: 1, dup: false, retain: false, messageId: n + 1 }),
  );

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

const valuesOf = async (sensor: string): Promise<number[]> => {
  const answer = await server.call('owner', 'GET', `/devices/d/sensors/${sensor}/values?limit=1000&sort=asc`);
  return (answer.body as { value: number }[]).map(({ value }) => value);
};

suite('usual publishes take turns:', () => {
  test('of many connections each is stored and acknowledged once, in its order, however it is cut', async () => {
    const count = 300;
    const clients = await Promise.all(
      Array.from({ length: connections }, (_, n) => RawClient.connect(server, 'owner', { clientId: `all-${n}` })),
    );
    for (const [n, { socket }] of clients.entries()) {
      // A retained one in the middle goes through the broker, and is not overtaken.
      const packets = publishes(`devices/d/sensors/s${n}/value`, count);
      const broker = { cmd: 'publish', topic: `devices/d/sensors/s${n}/value`, payload: '0.5', qos: 1, dup: false, retain: true, messageId: 60_000 } as const; // biome-ignore format: one line
      packets.splice(150, 0, generate(broker));
      const bytes = Buffer.concat(packets);
      const cuts = [0, 37 + n, 1_000 + 13 * n, 5_000 + n, bytes.length];
      for (let i = 1; i < cuts.length; i += 1) socket.write(bytes.subarray(cuts[i - 1], cuts[i]));
    }
    await until(() => clients.every(({ packets }) => packets.length === count + 1));
    const ids = [...upTo(150), 60_000, ...upTo(count).slice(150)];
    for (const [n, client] of clients.entries()) {
      assert.deepEqual(
        client.packets.map(({ messageId }) => messageId),
        ids,
      );
      const values = await valuesOf(`s${n}`);
      assert.deepEqual(values, [...upTo(150), 0.5, ...upTo(count).slice(150)]);
      client.socket.destroy();
    }
  });

  test('who sends one waits for none of the many connections of another', async () => {
    const count = 8_000;
    const many = await Promise.all(
      Array.from({ length: connections }, (_, n) => RawClient.connect(server, 'stranger', { clientId: `many-${n}` })),
    );
    const quiet = await RawClient.connect(server, 'owner', { clientId: 'quiet' });
    for (const [n, client] of many.entries()) client.send(...publishes(`devices/others/sensors/s${n}/value`, count));
    await until(() => many.some(({ packets }) => packets.length > 0), { everyMs: 1 });
    quiet.publish({ topic: 'devices/d/sensors/s0/value', payload: '-1', messageId: 7 });
    await quiet.next('puback');
    const behind = many.filter(({ packets }) => packets.length < count).length;
    assert.ok(behind > connections / 2, `only ${behind} of ${connections} were still under way`);
    await until(() => many.every(({ packets }) => packets.length === count), { msMax: 60_000 });
    for (const client of [...many, quiet]) client.socket.destroy();
  });

  test('what was sent before the connection was ended is still stored', async () => {
    const before = (await valuesOf('s1')).length;
    const others = await Promise.all(
      Array.from({ length: 5 }, (_, n) => RawClient.connect(server, 'owner', { clientId: `beside-${n}` })),
    );
    const client = await RawClient.connect(server, 'owner', { clientId: 'ends' });
    for (const [n, other] of others.entries()) other.send(...publishes(`devices/d/sensors/s${n + 5}/value`, 1_000));
    client.socket.end(Buffer.concat(publishes('devices/d/sensors/s1/value', 200)));
    await until(async () => (await valuesOf('s1')).length === before + 200);
    for (const other of others) other.socket.destroy();
  });
});
