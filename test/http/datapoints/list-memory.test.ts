// The memory of a long list is reused only after the list was sent: no answer contains data of another, however many
// are requested at once and however slowly one is read.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const sensors = ['a', 'b', 'c'];
const count = 6_000;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: sensors.map((id) => ({ id })) } });
  for (const [n, sensor] of sensors.entries()) {
    const json = Array.from({ length: count }, (_, i) => ({ value: n * count + i }));
    await server.call('owner', 'POST', `/devices/d/sensors/${sensor}/values`, { json });
  }
  await server.running.engine.seal();
});
after(() => server.stop());

function assertWhole(text: string, sensor: string): void {
  const first = sensors.indexOf(sensor) * count;
  const values = JSON.parse(text).map((row: { readonly value: number }) => row.value);
  assert.deepEqual(
    values,
    Array.from({ length: count }, (_, i) => first + i),
  );
}

test('lists that are asked for at once are each their own', async () => {
  for (let round = 0; round < 4; round++) {
    await Promise.all(
      [...sensors, ...sensors, ...sensors].map(async (sensor) => {
        const { status, text } = await server.call('owner', 'GET', `/devices/d/sensors/${sensor}/values?limit=30000`);
        assert.equal(status, 200);
        assertWhole(text, sensor);
      }),
    );
  }
});

test('a list that is read slowly is not overwritten by those that are asked for meanwhile', async () => {
  const port = server.running.ports.http;
  const token = await server.token('owner');
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  socket.pause();
  const head = `GET /api/v2/devices/d/sensors/a/values?limit=30000 HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;
  // Several, so that more is on its way than the system takes.
  socket.write(head.replace('Connection: close\r\n', '').repeat(7) + head);
  for (let round = 0; round < 6; round++) {
    const { text } = await server.call('owner', 'GET', '/devices/d/sensors/b/values?limit=30000');
    assertWhole(text, 'b');
  }
  let answer = '';
  socket.setEncoding('latin1').on('data', (some: string) => {
    answer += some;
  });
  socket.resume();
  await once(socket, 'close');
  const bodies = answer.split(/HTTP\/1\.1 200 OK\r\n/).slice(1);
  assert.equal(bodies.length, 8);
  for (const body of bodies) assertWhole(body.slice(body.indexOf('\r\n\r\n')), 'a');
});
