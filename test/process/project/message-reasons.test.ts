// Each reason why a message did not go, as senders and outbox word it, has words of the dashboard: none is shown in English
// in another language. Those of the settings of Twilio's account are for the operator, and stay.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { catalogueOf } from '../../support/catalogue.ts';

const root = new URL('../../../', import.meta.url);

/** What stands in the source as a reason, with something in each gap. */
function reasonsIn(file: string): string[] {
  const text = readFileSync(new URL(file, root), 'utf8');
  const found = [...text.matchAll(/reason(?:: | = )(?:'([^'\n]+)'|`([^`\n]+)`)/g)];
  return found.map(([, plain, made = '']) => plain ?? fill(made));
}

const gaps: readonly (readonly [gap: RegExp, text: string])[] = [
  [/\$\{provider\}/g, 'the webhook'],
  [/\$\{reason\} \(\$\{tries\} times\)/g, 'an error in the service (9 times)'],
  [/\$\{reason\}/g, 'cannot be reached'],
  [/\$\{most\}/g, 'more messages than an author may send in a minute'],
  [/\$\{to\.username\} has no \$\{what\}/g, 'awa has no phone number'],
  [/\$\{message\.channel\}/g, 'sms'],
  [/\$\{[^}]*\}/g, '7'],
];
const fill = (made: string) => gaps.reduce((text, [gap, by]) => text.replace(gap, by), made);

test('each reason of senders and outbox is said in French', async () => {
  const load = async (file: string) => (await import(new URL(file, root).href)) as Record<string, never>;
  const { reasonWords } = (await load('dashboard/src/shared/message-reason.ts')) as unknown as {
    reasonWords: (reason: string, strings: unknown) => string;
  };
  const fr = await catalogueOf('fr');
  const folders = ['src/delivery', 'src/domain/notifications/outbox'];
  const files = folders.flatMap((folder) => readdirSync(new URL(folder, root)).map((name) => `${folder}/${name}`));
  const reasons = [
    ...files.filter((file) => !file.endsWith('.test.ts')).flatMap(reasonsIn),
    'no provider is set up for sms (DUNDUN_TWILIO_ACCOUNT)',
    'no such user: who had this name was removed; to mean who has it now, send it or save the rule again',
  ];
  assert.ok(reasons.length > 20, String(reasons.length));
  assert.deepEqual(
    reasons.filter((reason) => reasonWords(reason, fr) === reason),
    [],
  );
});
