// Direct messages as the API of X takes them (docs.x.com, Direct Messages), against a server that answers like it: OAuth
// 1.0a signed, names looked up, errors as problem documents.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { TwitterSender } from '../../src/delivery/twitter.ts';
import {
  type Asked,
  clock,
  messageTo,
  Provider,
  type Reply,
  send,
  type Trouble,
  troubleTests,
} from '../support/peers/provider.ts';

let provider: Provider;
before(async () => {
  provider = await Provider.start();
});
after(() => provider.stop());

const secrets = ['app-secret-1', 'access-token-2', 'access-secret-3'];
const sender = (msMax = 20_000) => {
  const [appSecret = '', accessToken = '', accessSecret = ''] = secrets;
  return new TwitterSender(
    { appKey: 'app', appSecret, accessToken, accessSecret, url: provider.url },
    { clock, msMax },
  );
};
const toAwa = (text?: string) => messageTo({ twitter: ['2244994945'] }, 'twitter', text);
const taken = { status: 201, json: { data: { dm_conversation_id: '123-456', dm_event_id: '1146654567674912769' } } };
const problem = (status: number, type: string, title: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  text: JSON.stringify({ title, type, status, detail: `${title} access-token-2` }),
});
const isLookup = ({ path }: Asked) => path.startsWith('/2/users/by/username/');
const found = (id: string) => ({ status: 200, json: { data: { id, name: 'Awa', username: 'awadiop' } } });
const nobody = {
  status: 200,
  json: {
    errors: [
      {
        ...{ value: 'awadiop', detail: 'Could not find user with username: [awadiop].', title: 'Not Found Error' },
        ...{
          resource_type: 'user',
          parameter: 'username',
          type: 'https://api.twitter.com/2/problems/resource-not-found',
        },
      },
    ],
  },
};

suite('a direct message on X', () => {
  test('is posted to the account by id, signed, under its own id', async () => {
    provider.reply = taken;
    const message = toAwa('Field 3 is dry 🌡');
    assert.deepEqual(await send(sender(), message, { secrets }), { kind: 'sent', code: '201' });
    const { method, path, headers, body } = provider.last;
    assert.deepEqual([method, path], ['POST', '/2/dm_conversations/with/2244994945/messages']);
    assert.deepEqual(JSON.parse(body), { text: message.text });
    assert.equal(headers['idempotency-key'], message.id);
    const signed = headers.authorization ?? '';
    assert.match(signed, /^OAuth .*oauth_consumer_key="app".*oauth_signature="[^"]+".*oauth_token="access-token-2"/);
    for (const secret of ['app-secret-1', 'access-secret-3']) assert.ok(!signed.includes(secret));
  });

  test('finds the account of a name, once a day, for names change hands', async () => {
    const looksUp = sender();
    const ask = async () => {
      const asked = provider.asked.length;
      const message = messageTo({ twitter: ['AwaDiop'] }, 'twitter');
      assert.equal((await send(looksUp, message, { secrets })).kind, 'sent');
      return provider.asked.slice(asked).map(({ path }) => path);
    };
    provider.reply = (asked) => (isLookup(asked) ? found('2244994945') : taken);
    const posted = '/2/dm_conversations/with/2244994945/messages';
    assert.deepEqual(await ask(), ['/2/users/by/username/AwaDiop', posted]);
    assert.deepEqual(await ask(), [posted]);
    clock.advance(24 * 3_600_000);
    provider.reply = (asked) => (isLookup(asked) ? found('99999') : taken);
    assert.deepEqual(await ask(), ['/2/users/by/username/AwaDiop', '/2/dm_conversations/with/99999/messages']);
  });

  test('goes to the next account where there is none of that name, or it takes no messages', async () => {
    const twitter = ['awadiop', 'no name/../2', '1'.repeat(30), '2244994945', '2244994946'];
    const refusal = problem(403, 'about:blank', 'Forbidden');
    provider.reply = (asked) => (isLookup(asked) ? nobody : asked.path.includes('2244994945') ? refusal : taken);
    const asked = provider.asked.length;
    assert.equal((await send(sender(), messageTo({ twitter }, 'twitter'), { secrets })).kind, 'sent');
    const paths = provider.asked.slice(asked).map(({ path }) => path.replace('/2/', ''));
    const direct = (id: string) => `dm_conversations/with/${id}/messages`;
    assert.deepEqual(paths, ['users/by/username/awadiop', direct('2244994945'), direct('2244994946')]);
  });

  const failures: readonly (readonly [what: string, reply: Reply | Trouble, reason: RegExp])[] = [
    ['the account takes none', problem(403, 'about:blank', 'Forbidden'), /takes no direct messages/],
    [
      'the app may not send any',
      problem(403, 'https://api.twitter.com/2/problems/oauth1-permissions', 'Forbidden'),
      /refuses the credentials/,
    ],
    [
      'the app is not enrolled',
      problem(403, 'https://api.twitter.com/2/problems/client-forbidden', 'Client Forbidden'),
      /refuses the credentials/,
    ],
    ['the tokens are wrong', problem(401, 'about:blank', 'Unauthorized'), /refuses the credentials/],
    ['the account is gone', problem(404, 'about:blank', 'Not Found'), /no such account/],
    ['the message is not as it should be', problem(400, 'about:blank', 'Invalid Request'), /refuses the message/],
  ];
  for (const [what, reply, reason] of failures) {
    test(`is failed where ${what}`, async () => {
      provider.reply = reply;
      const sendOutcome = await send(sender(), toAwa(), { secrets });
      assert.equal(sendOutcome.kind, 'failed', JSON.stringify(sendOutcome));
      assert.match((sendOutcome as { reason: string }).reason, reason);
    });
  }

  test('cannot go to who has no account there', async () => {
    const sendOutcome = await send(sender(), messageTo({}, 'twitter'));
    assert.deepEqual(sendOutcome, { kind: 'undelivered', reason: 'awa has no account on X' });
  });

  test('waits until the window of the limit is over', async () => {
    const reset = String(clock.now() / 1000 + 600);
    const headers = { 'x-rate-limit-limit': '200', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': reset };
    provider.reply = problem(429, 'about:blank', 'Too Many Requests', headers);
    const sendOutcome = await send(sender(), toAwa(), { secrets });
    assert.deepEqual(sendOutcome, { ...sendOutcome, kind: 'retry', code: '429', retryAfterS: 600 });
  });

  test('waits where the lookup of a name has to, and sends nothing', async () => {
    provider.reply = { status: 429, headers: { 'retry-after': '5' }, json: {} };
    const asked = provider.asked.length;
    const sendOutcome = await send(sender(), messageTo({ twitter: ['awadiop'] }, 'twitter'), { secrets });
    assert.deepEqual([sendOutcome.kind, provider.asked.length], ['retry', asked + 1]);
  });

  test('is tried again where something else answers in place of X', async () => {
    const noise = [{}, { data: null }, { data: {} }, { data: { dm_event_id: 1 } }, [], 'x'];
    for (const json of noise) {
      provider.reply = { status: 200, json };
      assert.equal((await send(sender(), toAwa(), { secrets })).kind, 'retry', JSON.stringify(json));
      assert.equal((await send(sender(), messageTo({ twitter: ['awadiop'] }, 'twitter'), { secrets })).kind, 'retry');
    }
    provider.reply = { status: 200, text: '<html>' };
    assert.equal((await send(sender(), toAwa(), { secrets })).kind, 'retry');
  });

  troubleTests({ provider: () => provider, sender, message: () => toAwa(), secrets });
});
