// Stored sessions: their owner, what ends them, their bounds, and which messages they get. On a real database.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { until } from '../../../../../test/support/until.ts';
import { limits } from '../../../../config/limits.ts';
import { client, isRefusal, type MqttEngine, makeRuns, message, other, payloads, read } from '../mqtt-runs.suite.ts';

const ada = 1;
const eve = 2;

export function storedSessionsSuite(engine: MqttEngine): void {
  suite(`Stored sessions on ${engine.name}`, () => {
    test('a session holds a bounded number of filters', async (t) => {
      const { persistence } = await (await makeRuns(t, engine)).start();
      const subscriptions = Array.from({ length: limits.sessionFiltersMax }, (_, i) => ({ topic: `t/${i}`, qos: 1 }));
      await persistence.addSubscriptions(client, subscriptions);
      assert.equal(persistence.hasCapacityForFilter('c1', 'one/more'), false);
      assert.equal(persistence.hasCapacityForFilter('c1', 't/7'), true);
      await persistence.addSubscriptions(client, [
        { topic: 'one/more', qos: 1 },
        { topic: 't/7', qos: 2 },
      ]);
      assert.deepEqual(await persistence.subscriptionsByTopic('one/more'), []);
      assert.equal((await persistence.subscriptionsByTopic('t/7'))[0]?.qos, 2);
    });

    test('beyond the bound of sessions a new one is refused, and those there are go on', async (t) => {
      const runs = await makeRuns(t, engine);
      const first = await runs.start();
      await first.fill('mqtt_session', limits.sessionsMax - 2, { key: 'n', client_id: "'s' || n" });
      const { persistence } = await runs.start();
      await persistence.claimSession('c1', ada);
      for (const user of [ada, eve]) await assert.rejects(persistence.claimSession('c2', user), isRefusal('busy'));
      await persistence.addSubscriptions(client, [{ topic: 't', qos: 1 }]);
      await persistence.outgoingEnqueueCombi([{ clientId: 'nobody' }, { clientId: 'c1' }], message(1));
      assert.deepEqual([persistence.dropped, await payloads(persistence.outgoingStream(client))], [1, ['m1']]);
      await persistence.endSession('s1');
      // The remaining sessions are shared out: a user who has none yet gets one.
      await assert.rejects(persistence.claimSession('c2', ada), isRefusal('busy'));
      await persistence.claimSession('c2', eve);
      assert.equal(persistence.sessionCount, limits.sessionsMax - 1);
    });

    test('a session is its owner’s across a restart, until it ends', async (t) => {
      const runs = await makeRuns(t, engine);
      const { persistence } = await runs.start();
      assert.equal(await persistence.findSessionOwner('c1'), undefined);
      const claims = [persistence.claimSession('c1', ada), persistence.claimSession('c1', eve)];
      const [first, second] = await Promise.allSettled(claims);
      assert.equal(first?.status, 'fulfilled');
      assert.equal(second?.status, 'rejected');
      await persistence.claimSession('c2', eve);
      await persistence.claimSession('c3', ada);

      const run = await runs.start();
      assert.equal(await run.persistence.findSessionOwner('c1'), ada);
      await assert.rejects(run.persistence.claimSession('c1', eve), isRefusal('exists'));
      await run.persistence.addSubscriptions(client, [{ topic: 't', qos: 1 }]);
      await run.persistence.outgoingEnqueue({ clientId: 'c1' }, message(1));
      await run.persistence.incomingStorePacket(client, message(1, { qos: 2, messageId: 5 }));
      await run.persistence.endSession('c1');
      assert.equal(await run.persistence.findSessionOwner('c1'), undefined);
      assert.deepEqual(await run.persistence.subscriptionsByTopic('t'), []);
      assert.deepEqual(await read(run.persistence.outgoingStream(client)), []);
      await run.persistence.claimSession('c1', eve);

      const last = await runs.start();
      assert.equal(await last.persistence.findSessionOwner('c1'), eve);
      assert.deepEqual(await last.persistence.subscriptionsByClient(client), []);
      for (const table of ['subscription', 'queue', 'message', 'incoming'])
        assert.equal(await last.count(`mqtt_${table}`), 0);
    });

    test('forgetting a user ends all sessions and wills of that user alone', async (t) => {
      const runs = await makeRuns(t, engine);
      const { persistence } = await runs.start();
      for (const id of ['c1', 'c2', 'c3']) {
        const user = id === 'c3' ? eve : ada;
        await persistence.claimSession(id, user);
        await persistence.addSubscriptions({ id }, [{ topic: 't', qos: 1 }]);
        await persistence.putWill({ id }, { topic: 'gone', payload: 'x', qos: 0, retain: false, user });
      }
      await persistence.forgetUser(ada, []);
      const again = (await runs.start()).persistence;
      assert.deepEqual([...(await again.getClientList('t').toArray())], ['c3']);
      assert.equal(await again.findSessionOwner('c1'), undefined);
      assert.deepEqual(
        (await read(again.streamWill())).map((will) => will.clientId),
        ['c3'],
      );
    });

    test('a long queue of an ended session is cleared away in slices, after a restart too', async (t) => {
      const runs = await makeRuns(t, engine);
      const first = await runs.start();
      await first.persistence.claimSession('c1', ada);
      await first.persistence.outgoingEnqueue({ clientId: 'c2' }, message(9_001));
      await first.fill('mqtt_message', 9_000, { id: 'n', topic: "'t'", payload: "'x'" });
      await first.fill('mqtt_queue', 9_000, { session: '1', message: 'n', qos: '1' });
      const run = await runs.start();
      await run.persistence.endSession('c1');
      const last = await runs.start();
      await last.persistence.claimSession('c1', ada);
      assert.deepEqual(await read(last.persistence.outgoingStream(client)), []);
      await until(async () => (await last.count('mqtt_queue')) <= 1);
      assert.equal(await last.count('mqtt_message'), 1);
      assert.deepEqual(await payloads(last.persistence.outgoingStream(other)), ['m9001']);
    });

    test('a filter takes only topics of its form, and a wildcard in front none of the server’s', async (t) => {
      const takesSlash = (filter: string) => filter.startsWith('/') || filter.startsWith('+/');
      const matchesForm = (filter: string, topic: string) => takesSlash(filter) === topic.startsWith('/');
      const { persistence } = await (await makeRuns(t, engine)).start({ matchesForm });
      const filters = ['#', '+/#', '/#', 'a/b', '/a/b', '+/a/b', '+/b', '$SYS/#'];
      await persistence.addSubscriptions(
        client,
        filters.map((topic) => ({ topic, qos: 1 })),
      );
      const takers = async (topic: string) => {
        const matches = (await persistence.subscriptionsByTopic(topic)).map((match) => match.topic);
        await persistence.storeRetained({ topic, payload: 'x', qos: 0, retain: true });
        for (const filter of filters) {
          const retained = (await read(persistence.createRetainedStream(filter))).some(
            (packet) => packet.topic === topic,
          );
          assert.equal(retained, matches.includes(filter), `${filter} and ${topic}`);
        }
        return matches.sort();
      };
      assert.deepEqual(await takers('a/b'), ['#', 'a/b']);
      assert.deepEqual(await takers('/a/b'), ['+/#', '+/a/b', '/#', '/a/b']);
      assert.deepEqual(await takers('$SYS/x'), ['$SYS/#']);
    });

    test('nothing is kept for who may not receive it', async (t) => {
      const mayReceive = (user: number | undefined, { topic }: { readonly topic?: string | undefined }) =>
        user === ada || topic === 'open';
      const { persistence } = await (await makeRuns(t, engine)).start({ mayReceive });
      await persistence.claimSession('c1', ada);
      for (const each of [client, other]) await persistence.addSubscriptions(each, [{ topic: '#', qos: 1 }]);
      const takers = async (topic: string) =>
        (await persistence.subscriptionsByTopic(topic)).map((match) => match.clientId);
      assert.deepEqual(await takers('open'), ['c1', 'c2']);
      assert.deepEqual(await takers('private'), ['c1']);
    });
  });
}
