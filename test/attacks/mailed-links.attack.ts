// An attack on links that are mailed: forgotten passwords are asked for, for names that are there and names that are not,
// from many addresses, and secrets are guessed where links are taken.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { limits } from '../../src/config/limits.ts';
import { MailServer } from '../support/peers/mail-server.ts';
import { baseUrl, parseMail } from '../support/peers/mailbox.ts';
import { until } from '../support/until.ts';
import { type Attack, type AttackTarget, pace } from './harness/attack.ts';
import { addressOf, ask, keepOn } from './harness/attacker.ts';

/** Below the ports that the system gives away, and another in each process. */
const port = 20_000 + (process.pid % 10_000);
const mailOf = (name: string) => `${name}@farm.example`;
let mailServer: MailServer | undefined;

/** Gives the user an e-mail address, which they confirm by the link that is mailed there. */
async function confirmAddress(target: AttackTarget): Promise<void> {
  const { username, password } = target;
  mailServer = await MailServer.start(port);
  const { text: token } = await ask(target, { path: '/api/v2/auth/token', json: { username, password } });
  const { id } = JSON.parse((await ask(target, { path: '/api/v2/users/me', token })).text);
  const json = { current: password, email: mailOf(username) };
  const changed = await ask(target, { path: `/api/v2/users/${id}/email`, method: 'PUT', token, json });
  assert.equal(changed.status, 204, changed.text);
  await ask(target, { path: `/api/v2/users/${id}/email/confirmation`, method: 'POST', token });
  const { messages } = mailServer;
  const secretOf = () => messages.map(parseMail).find(({ secret }) => secret !== '')?.secret;
  await until(() => secretOf() !== undefined);
  const confirmed = await ask(target, { path: '/api/v2/auth/email-confirmation', json: { secret: secretOf() } });
  assert.equal(confirmed.status, 204, confirmed.text);
  messages.length = 0;
}

async function attack(target: AttackTarget, { messages }: MailServer): Promise<void> {
  const { username, password } = target;
  const real = [username, mailOf(username)];
  /** By whether there is such an account: the statuses and bodies that came. */
  const answers = { real: new Set<string>(), invented: new Set<string>() };
  const guessed = new Set<number>();
  await keepOn(target, 40, async (connection, round) => {
    const n = connection + 40 * round;
    const from = addressOf(n % 200);
    if (connection % 2 === 0) {
      const isReal = round % 2 === 0;
      const account = isReal ? real[(round >> 1) % 2] : `invented-${n}`;
      const { status, text } = await ask(target, { path: '/api/v2/auth/password-reset', json: { account }, from });
      assert.ok([0, 202, 429, 503].includes(status), `${status} ${text}`);
      if (status === 202) answers[isReal ? 'real' : 'invented'].add(`${status} ${text}`);
    } else {
      const json = { secret: randomBytes(32).toString('base64url'), password: 'drums are heard far away' };
      guessed.add((await ask(target, { path: '/api/v2/auth/new-password', json, from })).status);
    }
  });
  for (const status of guessed) assert.ok([0, 404, 429, 503].includes(status), `a guess is answered ${status}`);
  assert.deepEqual(answers.real, answers.invented);
  assert.equal(answers.real.size, 1);
  // What is on its way arrives within a moment.
  await pace(500);
  const mails = messages.map(parseMail);
  assert.deepEqual([...new Set(mails.map(({ to }) => to))], [mailOf(username)]);
  assert.ok(mails.length <= limits.accountMailsPerUserMax, `${mails.length} mails came`);
  const login = await ask(target, { path: '/api/v2/auth/token', json: { username, password }, from: '127.0.0.9' });
  assert.equal(login.status, 200, 'the user comes in as before');
}

export const attacks: readonly Attack[] = [
  {
    name: 'asks for forgotten passwords of real and invented names from two hundred addresses, and guesses secrets of links',
    against: 'identity',
    metBy: 'the same answer before anything is looked up; mails are counted by user, mailbox and address (domain/accounts/account-mail-limits.ts); secrets of 256 bits', // biome-ignore format: one line
    settings: {
      DUNDUN_SMTP_URL: `smtp://127.0.0.1:${port}`,
      DUNDUN_SMTP_FROM: 'dundun@farm.example',
      DUNDUN_BASE_URL: baseUrl,
    },
    prepare: confirmAddress,
    run: async (target) => {
      const mailbox = mailServer;
      assert.ok(mailbox !== undefined, 'the mail server is there');
      try {
        await attack(target, mailbox);
      } finally {
        await mailbox.stop();
      }
    },
  },
];
