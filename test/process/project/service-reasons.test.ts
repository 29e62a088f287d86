// Why a message over MQTT was dropped and why the storage refuses, as the service words it, has words of the dashboard in every
// language: none is shown in English in another one, and none that stands in the source is left to "something is wrong".
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { catalogueOf } from '../../support/catalogue.ts';

const root = new URL('../../../', import.meta.url);
const languages = ['fr', 'es', 'pt', 'sw', 'ar'];

type Say = (reason: string, strings: unknown) => string;

const load = async (file: string) => (await import(new URL(file, root).href)) as Record<string, unknown>;
/** What a pattern finds in a file, with something in each gap. */
function sentencesIn(file: string, pattern: RegExp): string[] {
  const found = [...readFileSync(new URL(file, root), 'utf8').matchAll(pattern)];
  return found.map(([, plain, made = '']) => plain ?? fill(made));
}

const gaps: readonly (readonly [gap: RegExp, text: string])[] = [
  [/\$\{pointer \|\| '[^']*'\}/g, '/0/value'],
  [/\$\{titleOf\(device\)\}/g, 'Device field-3'],
  [/\$\{sensorId\}/g, 'TC'],
  [/\$\{missing\} on \$\{nameOf\(record\)\}/g, 'device-data:create on device field-3'],
  [/\$\{fault\}|\$\{where\}/g, ''],
  [/\$\{advice\}/g, 'free space on it, or remove data'],
  [/\$\{(limits\.\w+|body\.length|length|bytes|max|this\.#levelsMax)\}/g, '7'],
  [/\$\{[^}]*\}/g, 'something'],
];
const fill = (made: string) => gaps.reduce((text, [gap, by]) => text.replace(gap, by), made);

const refused = /new Refusal\(\s*'(?:malformed|too-large|forbidden|not-found)',\s*(?:'([^'\n]+)'|`([^`\n]+)`)/g;
const dropped = [
  ...['src/domain/datapoints/ingest/reading.ts', 'src/domain/datapoints/ingest/ingest.ts'],
  ...['src/mqtt/publishing.ts', 'src/base/text/json-text.ts', 'src/domain/actuators/actuators.ts'],
].flatMap((file) => sentencesIn(file, refused));
const ofFields = sentencesIn(
  'src/domain/datapoints/ingest/reading.ts',
  /fault\(`\$\{pointer\}\/(?:value|timestamp)`, '([^']+)'/g,
);
const drops = [
  ...dropped.filter((sentence) => !sentence.includes('something')),
  '/value is missing: a datapoint needs a value (null is one).',
  '/0/timestamp is no timestamp; write RFC 3339 such as "2016-06-08T18:20:27.873Z".',
  'You need the right device-data:create on device field-3.',
  'There is no device field-3.',
  'The quota datapoints_per_day of who would be charged for this does not allow it: 9 of 9 are used. Remove something, or ask an admin for more.',
];

const refusals = [
  ...sentencesIn(
    'src/domain/datapoints/ingest/storage-quota.ts',
    /(?:none\(|return )(?:'([^'\n]+)'|`([^`\n]*(?:disk|data)[^`\n]*)`)/g,
  ),
  ...sentencesIn('src/engines/embedded/threads/writer.ts', /#refusesBecause = (?:'([^'\n]+)'|`([^`\n]+)`)/g),
  ...sentencesIn('src/engines/embedded/threads/write-state.ts', /(?:return|\?) (?:'([^'\n]+)'|`([^`\n]+)`)/g),
  ...sentencesIn('src/engines/postgres/log/log-writer.ts', /#refusesBecause = (?:'([^'\n]+)'|`([^`\n]+)`)/g),
  ...sentencesIn('src/engines/postgres/log-parts.ts', /\? (?:'([^'\n]+)'|`([^`\n]+)`)/g),
];

suite('in every language', async () => {
  const { dropWords, storageWords } = (await load('dashboard/src/shared/service-reason.ts')) as unknown as Record<
    'dropWords' | 'storageWords',
    Say
  >;

  test('the sources have the sentences that are looked for', () => {
    assert.ok(dropped.length >= 8, JSON.stringify(dropped));
    assert.equal(ofFields.length, 3);
    assert.ok(refusals.length >= 8, JSON.stringify(refusals));
  });

  for (const language of languages) {
    test(`${language} says why a message was dropped`, async () => {
      const strings = await catalogueOf(language);
      const { other } = strings['reasons'].drops;
      const unknown = drops.filter((reason) => [reason, other].includes(dropWords(reason, strings)));
      assert.deepEqual(unknown, []);
      assert.equal(dropWords('A sentence that nobody knows.', strings), other);
    });

    test(`${language} says why the storage refuses`, async () => {
      const strings = await catalogueOf(language);
      const { other } = strings['now'].refusesBecause;
      const unknown = refusals.filter((reason) => [reason, other].includes(storageWords(reason, strings)));
      assert.deepEqual(unknown, []);
      assert.equal(storageWords('a reason that nobody knows', strings), other);
    });
  }

  test('English shows the sentence of the service', async () => {
    const en = await catalogueOf('en');
    assert.equal(dropWords('There is no device x.', en), 'There is no device x.');
  });
});
