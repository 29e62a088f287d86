// A reporter for `node --test` that writes only what failed, each test with its file, its message and where it was thrown.
// test.ts has it write to a file beside the usual report, and prints that file after its last round.
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

type Failure = Extract<TestEvent, { type: 'test:fail' }>['data'];

/** A difference of two objects can be long; its beginning says which test to run again. */
const messageLines = 12;
const stackLines = 3;

// biome-ignore lint/style/noDefaultExport: Node.js takes the default export of a reporter.
export default async function* failedTests(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:fail' && isCause(event.data)) yield textOf(event.data);
  }
}

/** What the reporter has written, with `where` beside the name of each test. */
export function failuresIn(written: string, where?: string): string {
  // What is told of a test is further in than its name.
  return where === undefined ? written : written.replace(/^\S.*$/gm, (name) => `${name} (${where})`);
}

/** Whether the test failed by itself: a suite fails with each of its tests, and what is `todo` may fail. */
function isCause({ details, todo }: Failure): boolean {
  return todo === undefined && failureTypeOf(details.error) !== 'subtestsFailed';
}

function failureTypeOf(error: Error): unknown {
  return 'failureType' in error ? error.failureType : undefined;
}

function textOf({ name, file, line, details }: Failure): string {
  const path = file === undefined ? '' : `${relative('.', file)}:${line}: `;
  const suites = 'classname' in details && details.classname !== undefined ? `${details.classname} > ` : '';
  return [`${path}${suites}${name}`, ...linesOf(details.error).map((text) => `    ${text}`), ''].join('\n');
}

/** The first lines of the message and of the stack, without those of Node.js itself. */
function linesOf(error: Error): string[] {
  // The runner wraps what the test threw.
  const { cause = error } = error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  const lines = text.split('\n');
  const isStack = (line: string) => /^\s+at /.test(line);
  const message = lines.filter((line) => !isStack(line));
  const stack = lines.filter((line) => isStack(line) && line.includes('file:') && !line.includes('light-test-context'));
  const more = message.length > messageLines ? ['…'] : [];
  return [...message.slice(0, messageLines), ...more, ...stack.slice(0, stackLines)];
}
