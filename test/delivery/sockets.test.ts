// Whatever a provider does with a connection, the attempt ends and the process goes on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { post } from '../../src/delivery/post.ts';

const manners: Readonly<Record<string, (socket: Socket) => void>> = {
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'ends it without an answer': (socket) => socket.end(),
  'ends it within the head': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'),
  'resets it within the body': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => socket.resetAndDestroy()),
  'ends it within the body': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
  'answers with no HTTP': (socket) => socket.end('drum drum\r\n\r\n'),
  'changes to another protocol': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: drum\r\n\r\nbytes'),
  'says nothing': () => {},
};

for (const [what, answer] of Object.entries(manners)) {
  test(`a try ends where the other side ${what}`, async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
    await assert.rejects(post(url, { headers: {}, body: '{}', signal: AbortSignal.timeout(2_000) }));
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}
