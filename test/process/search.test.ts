// Searches of lists that take too long are ended, and do not delay others.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, type Dundun, login, startDundun, withLimits } from '../support/process.ts';

let dundun: Dundun;
let token: string;
before(async () => {
  dundun = await startDundun(withLimits({ searchMsMax: -1 }));
  token = (await login(dundun, 'admin')) as string;
  // Time is looked at for one row in 64.
  for (let n = 0; n < 64; n += 1) await call(dundun, '/api/v2/devices', { token, json: { id: `d${n}` } });
});
after(() => dundun.stop());

test('a list whose time is up is 503, says when to ask again, and all else is answered', async () => {
  for (const path of ['/devices', '/devices?q=meta.a.b==1', '/devices?order=-heard']) {
    const answer = await call(dundun, `/api/v2${path}`, { token });
    assert.equal(answer.status, 503, path);
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.match(((await answer.json()) as { detail: string }).detail, /took longer/);
  }
  assert.equal((await call(dundun, '/api/v2/devices/d1', { token })).status, 200);
  assert.equal((await call(dundun, '/health/live')).status, 200);
});
