// Who removes or corrects datapoints may say why: the audit log keeps it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

const path = '/devices/d/sensors/s/values';
const why = 'The sensor was out of the ground, "half" of\nit';
const at = (minute: number) => new Date(Date.UTC(2026, 0, 10, 0, minute)).toISOString();
const until = encodeURIComponent(at(1));

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_LOG_LEVEL: 'info' });
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'd', sensors: [{ id: 's' }] }, expect: 204 });
  const json = Array.from({ length: 6 }, (_, n) => ({ value: n, timestamp: at(n) }));
  await make(server, { as: 'owner', call: `POST ${path}`, json, expect: 204 });
});
after(() => server.stop());

const audits = () =>
  server.logged
    .filter(({ msg }) => msg.startsWith('audit: ') && msg.includes('datapoint'))
    .map((line) => line as unknown as { readonly reason?: string; readonly by: string; readonly datapoints?: number });
const count = async () => (await server.call('owner', 'GET', path)).body.length;

test('the reason of a removal and of a correction stands in the audit log, beside who did it', async () => {
  const reason = encodeURIComponent(why);
  const span = `dateFrom=${encodeURIComponent(at(0))}&dateTo=${until}`;
  const removal = await make(server, { as: 'owner', call: `DELETE ${path}?${span}&reason=${reason}`, expect: 200 });
  assert.deepEqual(removal.body, { removed: 2 });
  assert.deepEqual([audits().at(-1)?.by, audits().at(-1)?.datapoints, audits().at(-1)?.reason], ['owner', 2, why]);
  const call = `PUT ${path}/${encodeURIComponent(at(2))}?reason=${reason}`;
  await make(server, { as: 'admin', call, json: { value: 7 }, expect: 204 });
  assert.deepEqual([audits().at(-1)?.by, audits().at(-1)?.reason], ['admin', why]);
});

test('it may be left out', async () => {
  const call = `DELETE ${path}?timestamp=${encodeURIComponent(at(3))}`;
  await make(server, { as: 'owner', call, expect: 200 });
  assert.equal(audits().at(-1)?.datapoints, 1);
  assert.equal('reason' in (audits().at(-1) ?? {}), false);
});

test('one that is too long is refused, and nothing is done or logged', async () => {
  const [before, lines] = [await count(), audits().length];
  const long = 'w'.repeat(257);
  for (const call of [
    `DELETE ${path}?timestamp=${encodeURIComponent(at(4))}&reason=${long}`,
    `PUT ${path}/${encodeURIComponent(at(4))}?reason=${long}`,
  ]) {
    await make(server, { as: 'owner', call, ...(call.startsWith('PUT') ? { json: { value: 0 } } : {}), expect: 400 });
  }
  assert.deepEqual([await count(), audits().length], [before, lines]);
  const call = `DELETE ${path}?timestamp=${encodeURIComponent(at(4))}&reason=${'w'.repeat(256)}`;
  await make(server, { as: 'owner', call, expect: 200 });
});

test('who may not change the device is refused, whatever the reason', async () => {
  const lines = audits().length;
  const call = `DELETE ${path}?timestamp=${encodeURIComponent(at(5))}&reason=because`;
  for (const as of ['guest', 'stranger'] as const) await make(server, { as, call, expect: 403 });
  assert.equal(audits().length, lines);
});
