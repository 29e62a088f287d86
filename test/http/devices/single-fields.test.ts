// Every PUT of a single field, found in the OpenAPI document: without a body it is refused and changes nothing (contract 1).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiDocument } from '../../support/api/documented-answers.ts';
import { answersOf, open } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
/** What stands for each parameter of a path. */
const ids: Record<string, string> = { device: 'd', sensor: 's', actuator: 'a', gateway: 'g', domain: 'x' };

before(async () => {
  server = await TestServer.start();
  const parts = { sensors: [{ id: 's', name: 'S' }], actuators: [{ id: 'a', name: 'A' }] };
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', name: 'D', ...parts } });
  await server.call('owner', 'POST', '/gateways', { json: { id: 'g', name: 'G' } });
  ids['project'] = (await server.call('owner', 'POST', '/projects', { json: { name: 'P' } })).text;
  const rule = { description: '', condition: {}, action: { usernames: [], channels: [], message: '' } };
  ids['notification'] = (await server.call('owner', 'POST', '/notifications', { json: rule })).text;
  ids['user'] = (await server.call('owner', 'GET', '/users/me')).body.id;
});
after(() => server.stop());

test('a single field is not changed by a request without a body, whatever type it names', async () => {
  const token = await server.token('owner');
  const { body: document } = await server.send('GET', '/openapi.json');
  const paths = singleFieldsOf(document);
  assert.ok(paths.length > 40, String(paths.length));
  for (const path of paths) {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown');
    for (const type of ['', 'Content-Type: text/plain\r\n', 'Content-Type: application/json\r\n']) {
      for (const length of ['', 'Content-Length: 0\r\n']) {
        // An empty text is a text.
        if (type.includes('text') && length !== '') continue;
        const before = await server.rows();
        const socket = await open(server.running.ports.http);
        socket.write(`PUT ${filled} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${type}${length}\r\n`);
        const answer = (await answersOf(socket).next()).value ?? '';
        socket.destroy();
        assert.match(answer, /^HTTP\/1\.1 40[03] /, `PUT ${filled} with ${JSON.stringify(type + length)}: ${answer}`);
        assert.deepEqual(await server.rows(), before, filled);
      }
    }
  }
});

/** Paths that PUT text or JSON to one field. */
function singleFieldsOf(document: ApiDocument): string[] {
  const all = Object.entries(document.paths as Record<string, { put?: { requestBody?: { content?: object } } }>);
  return all.filter(([, { put }]) => 'text/plain' in (put?.requestBody?.content ?? {})).map(([path]) => path);
}
