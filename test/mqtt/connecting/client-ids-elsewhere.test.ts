// A client id that is taken at another process: who serves it lets go of it, for those to whom it would give way here.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Refusal } from '../../../src/base/refusal.ts';
import type { Announcement, AnnouncementHandlers } from '../../../src/domain/ports/announcement.ts';
import type { Engine } from '../../../src/domain/ports/engine.ts';
import { engineWith } from '../../support/engine-with.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
/** What the server does when another process announces something. */
let handlers: AnnouncementHandlers;
/** What the server has announced. */
const announced: Announcement[] = [];
/** A client id that stays with somebody at another process. */
let keptElsewhere: string | undefined;

before(async () => {
  const replaceEngine = (engine: Engine) =>
    engineWith(engine, {
      announce: async (announcement) => {
        announced.push(announcement);
        if (announcement.kind === 'client-id-taken' && announcement.clientId === keptElsewhere)
          throw new Refusal('exists', 'It is in use elsewhere.');
      },
      listen: (given) => {
        handlers = given;
      },
    });
  server = await TestServer.start({}, { replaceEngine });
});
after(() => server.stop());

async function keyOf(username: string): Promise<number> {
  const user = await server.running.engine.stores.users.findByName(username);
  assert.ok(user !== undefined);
  return user.key;
}

const takenBy = async (username: string, clientId: string) =>
  handlers['client-id-taken']({ kind: 'client-id-taken', clientId, user: await keyOf(username) }, 'another');

test('who connects announces the client id once it may have it', async () => {
  announced.length = 0;
  const client = await Client.connect(server, 'owner', { clientId: 'c1' });
  const taken = { kind: 'client-id-taken', clientId: 'c1', user: await keyOf('owner') } as const;
  assert.deepEqual(
    announced.filter(({ kind }) => kind === 'client-id-taken'),
    [taken],
  );
  await assert.rejects(Client.connect(server, 'stranger', { clientId: 'c1' }));
  assert.equal(announced.filter(({ kind }) => kind === 'client-id-taken').length, 1);
  await client.end();
});

test('a connection is closed when its user connects elsewhere, and not for a stranger', async () => {
  const client = await Client.connect(server, 'owner', { clientId: 'c2' });
  await assert.rejects(takenBy('stranger', 'c2'), { code: 'exists' });
  await client.roundTrip();
  await takenBy('owner', 'other');
  await client.roundTrip();
  await takenBy('owner', 'c2');
  await client.closed;
});

test('a guest gives way to a signed-in user elsewhere', async () => {
  const client = await Client.connect(server, 'guest', { clientId: 'c3' });
  await takenBy('owner', 'c3');
  await client.closed;
});

test('nobody connects under a client id that stays with somebody at another process', async () => {
  keptElsewhere = 'c4';
  await assert.rejects(Client.connect(server, 'owner', { clientId: 'c4' }));
  keptElsewhere = undefined;
  await (await Client.connect(server, 'owner', { clientId: 'c4' })).end();
});
