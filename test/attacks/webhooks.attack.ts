// An attack by webhooks of a user that point to the operator's own network, the metadata service of a cloud, and the
// service itself.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Attack, pace } from './harness/attack.ts';
import { ask, keepOn } from './harness/attacker.ts';

export const attacks: readonly Attack[] = [
  {
    name: 'has messages sent to webhooks in the operator’s network, at a cloud’s metadata and at the service itself',
    against: 'identity',
    by: 'user',
    metBy: 'an address is checked at the socket (delivery/address-guard.ts)',
    run: async (target) => {
      const { userToken: token, username } = target;
      let reached = 0;
      const inside = createServer((_, response) => {
        reached += 1;
        response.end();
      }).listen(0, '127.0.0.1');
      await once(inside, 'listening');
      const { port } = inside.address() as AddressInfo;
      const webhook = [
        ...[`http://127.0.0.1:${port}/`, `http://[::ffff:127.0.0.1]:${port}/`, `http://localhost:${port}/`],
        ...[`http://2130706433:${port}/`, 'http://169.254.169.254/latest/meta-data/', 'http://168.63.129.16/'],
        ...['http://[fd00:ec2::254]/', `${target.url}/api/v2/users/me`, `http://0.0.0.0:${target.http}/`],
        `http://127.0.0.1:${target.mqtt}/`,
      ];
      const { id } = JSON.parse((await ask(target, { path: '/api/v2/users/me', token })).text);
      const changed = await ask(target, { path: `/api/v2/users/${id}`, method: 'PUT', token, json: { webhook } });
      assert.equal(changed.status, 204, changed.text);
      const sent: string[] = [];
      await keepOn(target, 4, async () => {
        const json = { username, channel: 'webhook', message: 'where does this go' };
        const { status, text } = await ask(target, { path: '/api/v2/socials', token, json });
        assert.ok([0, 200, 429, 503].includes(status), `${status} ${text}`);
        if (status === 200) sent.push(text);
        await pace(50);
      });
      inside.close();
      assert.equal(reached, 0, 'the operator’s network was reached');
      assert.ok(sent.length > 0, 'nothing was sent');
      const { text } = await ask(target, { path: '/api/v2/socials?limit=100', token });
      const statuses = (JSON.parse(text) as { status: string }[]).map(({ status }) => status);
      assert.ok(!statuses.includes('sent'), `statuses: ${statuses}`);
      assert.ok(statuses.length > 0);
    },
  },
];
