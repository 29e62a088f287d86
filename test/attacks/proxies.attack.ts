// Attacks through a proxy that the service trusts: the attacker writes X-Forwarded-For as they like, the proxy adds their
// address at its end.
import assert from 'node:assert/strict';
import { type Attack, type AttackTarget, pace } from './harness/attack.ts';

/** A login as the proxy passes it on. */
function signIn({ url, username }: AttackTarget, password: string, forwardedFor: string): Promise<Response> {
  return fetch(`${url}/api/v2/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': forwardedFor },
    body: JSON.stringify({ username, password }),
  });
}

export const attacks: readonly Attack[] = [
  {
    name: 'guesses the password of a user through a trusted proxy, under addresses made up and under that of the user',
    against: 'identity',
    metBy: 'the last address that is no trusted proxy counts (base/network/trusted-proxies.ts)',
    settings: { DUNDUN_TRUST_PROXY: '127.0.0.1' },
    run: async (target) => {
      const guesser = '198.51.100.66';
      const owner = '203.0.113.7';
      for (let n = 0; n < 1_000 && !target.isOver(); n += 1) {
        const madeUp = n % 2 === 0 ? owner : `192.0.2.${n % 250}`;
        const { status } = await signIn(target, `guess ${n}`, `${madeUp}, ${guesser}`);
        assert.ok([401, 429, 503].includes(status), `a guess is answered ${status}`);
        await pace(5);
      }
      assert.equal((await signIn(target, target.password, owner)).status, 200, 'the user comes in');
    },
  },
];
