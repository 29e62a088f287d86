// docs/operations.md is the runbook: it names each line of the log that an operator may meet, in the words of the code.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/process.ts';

const runbook = readFileSync(join(root, 'docs/operations.md'), 'utf8');
const call = /\blog\??\.(?:info|warn|error|fatal)\(/g;
/** The text of a call such as `log.warn({ err }, 'text')`. */
const callWithText = new RegExp(`${call.source}[^']*?'((?:[^'\\\\]|\\\\.)+)'`, 'g');

test('docs/operations.md names each message of the log from level info on', () => {
  const source = join(root, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(source, name), 'utf8'));
  const messages = texts.flatMap((text) => [...text.matchAll(callWithText)].map(([, message = '']) => message));
  assert.equal(messages.length, texts.flatMap((text) => text.match(call) ?? []).length, 'each call has a text');
  assert.ok(messages.includes('the event loop was blocked'));
  // What comes behind a colon is advice, which the runbook may give in its own words.
  const unnamed = messages.filter((message) => !runbook.includes(message.replace(/(?<=.{20}): .*/, '')));
  assert.deepEqual(unnamed, []);
});
