// Wills that outlive what they were left with. Of one client id over a takeover: that of the former connection is published, and
// that of the later one stays stored until its own connection ends. And those with a delay, over a stop and a crash.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../../src/config/limits.ts';
import { heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;

const everyMs = limits.lostWillsEveryMs;

before(async () => {
  Object.assign(limits, { lostWillsEveryMs: 20 });
  server = await TestServer.start();
});
after(async () => {
  Object.assign(limits, { lostWillsEveryMs: everyMs });
  await server.stop();
});

const topic = 'users/owner/wills';

async function connect(clientId: string, payload?: string): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const will =
    payload === undefined ? {} : { will: { topic, payload: Buffer.from(payload), qos: 1, retain: false } as const };
  assert.equal((await client.signIn({ clientId, ...will })).reasonCode, 0);
  return client;
}

test('the will of a connection that took over is stored, though the former one is published behind it', async () => {
  const witness = await connect('witness');
  await witness.subscribe({ topic, qos: 1 });
  await connect('twice', 'first');
  const second = await connect('twice', 'second');
  await server.running.idle();
  assert.deepEqual(
    heard(await witness.take(1)).map(({ payload }) => payload),
    ['first'],
  );
  let stored: unknown[] = [];
  const isStored = async () => {
    const wills = ((await server.rows())['mqtt_will'] ?? []) as {
      readonly client_id: string;
      readonly payload: Uint8Array;
    }[];
    stored = wills.map(({ client_id: id, payload }) => [id, Buffer.from(payload).toString()]);
    return isDeepStrictEqual(stored, [['twice', 'second']]);
  };
  await until(isStored, { msMax: 20_000, otherwise: () => JSON.stringify(stored) });
  await second.cut();
  assert.deepEqual(
    heard(await witness.take(1)).map(({ payload }) => payload),
    ['second'],
  );
  await server.running.idle();
  assert.deepEqual((await server.rows())['mqtt_will'], []);
  await witness.leave();
});

const keptS = 10_000;
const kept = { clean: false, properties: { sessionExpiryInterval: keptS } };

/** A client with a will that waits 1 000 s for it to come back. */
async function delayed(clientId: string, payload: string): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const properties = { willDelayInterval: 1_000 };
  const will = { topic, payload: Buffer.from(payload), qos: 1, retain: false, properties } as const;
  assert.equal((await client.signIn({ clientId, ...kept, will })).reasonCode, 0);
  return client;
}

/** What has come to the witness when whatever is due was looked for. */
async function witnessed(witness: PacketClient): Promise<string[]> {
  // Rounds over wills of earlier runs, and over those that are due, in real time.
  await new Promise((resolve) => setTimeout(resolve, 2 * limits.willDelayLookMs));
  await server.running.idle();
  const came = await witness.deliveries();
  await witness.acknowledge(came);
  return heard(came).map(({ payload }) => payload);
}

for (const end of ['restart', 'crash'] as const) {
  test(`a will with a delay waits for its client over a ${end}, and is published when that has passed [3.1.3-9]`, async () => {
    await delayed(`back-${end}`, 'back');
    await delayed(`fresh-${end}`, 'fresh');
    await delayed(`away-${end}`, 'away');
    const gone = await delayed(`gone-${end}`, 'gone');
    await gone.cut();
    await server.running.idle();
    await server[end]();
    const witness = await connect(`witness-${end}`);
    await witness.subscribe({ topic, qos: 1 });
    assert.deepEqual(await witnessed(witness), []);
    const back = await PacketClient.open(server);
    assert.equal((await back.signIn({ clientId: `back-${end}`, ...kept })).sessionPresent, true);
    const fresh = await PacketClient.open(server);
    assert.equal((await fresh.signIn({ clientId: `fresh-${end}`, ...kept, clean: true })).sessionPresent, false);
    assert.deepEqual(await witnessed(witness), ['fresh'], 'its session has ended');
    server.clock.advance(1_001_000);
    assert.deepEqual((await witnessed(witness)).toSorted(), ['away', 'gone']);
    assert.deepEqual((await server.rows())['mqtt_will'], []);
    for (const client of [back, fresh, witness]) await client.leave();
  });
}
