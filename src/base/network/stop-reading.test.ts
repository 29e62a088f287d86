// What a peer sends to a socket that has stopped reading stays in the kernel.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { suite, test } from 'node:test';
import { stopReading } from './stop-reading.ts';

suite('a socket that has stopped reading', () => {
  async function pair(): Promise<{ near: Socket; far: Socket; end: () => void }> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const far = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).setNoDelay();
    const [near] = (await once(server, 'connection')) as [Socket];
    const end = () => {
      for (const socket of [near, far]) socket.destroy();
      server.close();
    };
    return { near, far, end };
  }

  /** As long as bytes take from a socket to another one. */
  async function roundTrip(): Promise<void> {
    const other = await pair();
    other.far.write('x');
    await once(other.near, 'data');
    other.end();
  }

  test('gets nothing until it reads on, and then all, in its order', async () => {
    const { near, far, end } = await pair();
    let text = '';
    near.on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
    });
    far.write('a');
    await once(near, 'data');
    const readOn = stopReading(near);
    far.write('b');
    await roundTrip();
    far.write('c');
    await roundTrip();
    assert.deepEqual([text, near.bytesRead], ['a', 1]);
    readOn();
    while (text.length < 3) await once(near, 'data');
    assert.equal(text, 'abc');
    // A second call changes nothing.
    readOn();
    far.end('d');
    await once(near, 'end');
    assert.equal(text, 'abcd');
    end();
  });

  test('hears of the end of its peer when it reads on', async () => {
    const { near, far, end } = await pair();
    near.resume();
    const readOn = stopReading(near);
    far.end();
    let isEnded = false;
    near.once('end', () => {
      isEnded = true;
    });
    await roundTrip();
    assert.equal(isEnded, false);
    readOn();
    if (!isEnded) await once(near, 'end');
    end();
  });

  test('may be destroyed before it reads on', async () => {
    const { near, end } = await pair();
    near.resume();
    const readOn = stopReading(near);
    near.destroy();
    await once(near, 'close');
    readOn();
    stopReading(near)();
    end();
  });

  test('is only one of Node.js: another stream goes on', async () => {
    const stream = new PassThrough();
    const readOn = stopReading(stream);
    stream.write('a');
    assert.equal(String(stream.read()), 'a');
    readOn();
  });
});
