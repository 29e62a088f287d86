// Several listening sockets on one port: one server gets all connections, no other process can use the port, and all
// close together.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { Listening } from './listening.ts';

/** A server that is to listen, and what it is given. */
function makeServer(t: TestContext) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
  });
  const listening = new Listening(server, {});
  const close = () => {
    listening.close();
    server.close();
  };
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    close();
  });
  return { server, listening, sockets, close };
}

/** Whether somebody else would be told that it is in use. */
async function isTaken(port: number, host: string): Promise<boolean> {
  const other = createServer();
  try {
    other.listen({ port, host });
    await once(other, 'listening');
    return false;
  } catch {
    return true;
  } finally {
    other.close();
  }
}

suite('listening with several queues', () => {
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::', 'localhost']) {
    test(`on ${host}, the server has every connection, and the port is nobody's when all are closed`, async (t) => {
      const { listening, sockets, close } = makeServer(t);
      const port = await listening.open({ host, port: 0 });
      const near = host === '::1' || host === '::' ? '::1' : '127.0.0.1';
      const clients = Array.from({ length: 100 }, () => connect(port, near).on('error', () => {}));
      t.after(() => clients.forEach((client) => client.destroy()));
      await until(() => sockets.length === clients.length);
      assert.equal(await isTaken(port, near), true);
      close();
      let isClosed = false;
      const closed = listening.closed().then(() => {
        isClosed = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(isClosed, false, 'it waits for the connections');
      for (const client of clients) client.destroy();
      for (const socket of sockets) socket.destroy();
      await closed;
      await until(async () => !(await isTaken(port, near)));
    });
  }

  const skip = process.platform === 'linux' ? false : 'the system deals connections out to one socket alone';
  test('a turn of the event loop accepts several connections', { skip }, async (t) => {
    const { listening, sockets } = makeServer(t);
    const port = await listening.open({ host: '127.0.0.1', port: 0 });
    // The system has connected them all before the loop comes to accept the first.
    const clients = Array.from({ length: 64 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    t.after(() => clients.forEach((client) => client.destroy()));
    let turns = 0;
    while (sockets.length < clients.length) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    assert.ok(turns < 40, `${turns} turns for ${clients.length} connections`);
  });

  test('a port that another server has is an error, whichever way that listens', async (t) => {
    for (const others of [{}, { reusePort: true }]) {
      const other = createServer().listen({ host: '127.0.0.1', port: 0, ...others });
      t.after(() => other.close());
      await once(other, 'listening');
      const { port } = other.address() as { port: number };
      const { listening, server } = makeServer(t);
      await assert.rejects(listening.open({ host: '127.0.0.1', port }), {
        code: 'EADDRINUSE',
        syscall: 'listen',
        port,
      });
      assert.equal(server.listening, false);
    }
  });

  test('of servers that open one port at the same moment exactly one has it', async (t) => {
    const first = makeServer(t);
    // An address that no other test listens on, where the machine has it.
    const host = process.platform === 'linux' ? '127.77.7.7' : '127.0.0.1';
    const port = await first.listening.open({ host, port: 0 });
    first.close();
    for (let round = 0; round < 20; round += 1) {
      const servers = Array.from({ length: 4 }, () => makeServer(t));
      const opened = await Promise.allSettled(servers.map(({ listening }) => listening.open({ host, port })));
      assert.equal(opened.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const { close } of servers) close();
    }
  });

  test('an address that is not of this machine is an error of the address', async (t) => {
    const { listening } = makeServer(t);
    await assert.rejects(listening.open({ host: '192.0.2.1', port: 0 }), { code: 'EADDRNOTAVAIL', syscall: 'listen' });
  });
});
