// `dundun secret rotate token`: rotates the key that signs tokens, whether a server is running or not. A running server
// reads it within a second (http/sign-in/token-keys.ts).

import { randomIds } from '../base/ids.ts';
import { Refusal } from '../base/refusal.ts';
import { systemClock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import { openStores } from '../engines/open.ts';
import { fail, readConfig } from './read-config.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

export async function rotateSecret(name: string, options: { readonly overlap: string }): Promise<void> {
  const { config } = readConfig();
  try {
    if (name !== 'token') throw new Refusal('malformed', `There is no secret ${name}; \`token\` can be rotated.`);
    const goodUntilMs = systemClock.now() + parseOverlapMs(options.overlap);
    const { stores, close } = await openStores(config);
    try {
      await stores.secrets.rotate('token-key', randomIds.bytes(32), goodUntilMs);
    } finally {
      await close();
    }
    console.log(
      `Tokens are signed with a new key; those signed before are good until ${new Date(goodUntilMs).toISOString()} at most.`,
    );
  } catch (error) {
    fail(error);
  }
}

/** @throws Refusal `malformed` */
function parseOverlapMs(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})(s|m|h)?$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  // A number without a unit is ambiguous.
  const isClear = count !== undefined && (Number(count) === 0 || /[smh]$/.test(text));
  if (isClear && ms <= limits.tokenKeyOverlapMsMax) return ms;
  throw new Refusal('malformed', `An overlap is 0, or a number with s, m or h, and a day at most; not ${text}.`);
}
