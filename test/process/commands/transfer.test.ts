// `dundun import` and `dundun export` from the command line: output, files and exit codes.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import {
  adminPassword,
  call,
  type Dundun,
  login,
  makeDevice,
  makeFolder,
  readValues,
  runVerb,
  startDundun,
} from '../../support/process.ts';

let first: Dundun;
let second: Dundun;
const folder = makeFolder();

before(async () => {
  [first, second] = await Promise.all([startDundun(), startDundun()]);
});
after(() => Promise.all([first.stop(), second.stop()]));

const file = (name: string, text?: string) => {
  const path = join(folder, name);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};
const run = (
  args: readonly string[],
  options: { readonly on?: { readonly url: string }; readonly settings?: Record<string, string>; readonly input?: string } = {}, // biome-ignore format: one line
) =>
  runVerb(args, {
    settings: { DUNDUN_URL: (options.on ?? first).url, DUNDUN_PASSWORD: adminPassword, ...options.settings },
    ...(options.input === undefined ? {} : { input: options.input }),
  });

suite('dundun import', () => {
  test('shows by --dry-run what it would do, then does it; refused lines are told and end it with 1', async () => {
    await makeDevice(first, 'logger', ['TC']);
    const path = file('logger.csv', 'Datum;Temp (°C);Hum\n05.06.2024 10:00;21,5;40\n05.06.2024 10:10;x;41\nbad;1;2\n');
    const args = ['import', path, '--device', 'logger', '--map', 'Temp (°C)=TC', '--timezone', 'Europe/Paris', '--values', 'number']; // biome-ignore format: one line
    const dry = await run([...args, '--dry-run']);
    assert.equal(dry.code, 1, dry.stderr);
    assert.match(dry.stdout, /3 lines, 1 datapoints would be stored, 2 refused/);
    assert.match(dry.stderr, /csv, delimiter semicolon, decimal comma, times D\.M\.YYYY.*Europe\/Paris/);
    assert.match(dry.stderr, /2 {2}Temp \(°C\) +→ \/TC +21,5/);
    assert.match(dry.stderr, /2024-06-05T08:00:00Z {2}logger\/TC {2}21\.5/);
    assert.match(dry.stderr, /line 3, column 2: "x" is no number\.\n.*line 4: "bad" is no time/s);
    assert.deepEqual(await readValues(first, 'logger', 'TC'), []);
    const done = await run(args);
    assert.deepEqual([done.code, await readValues(first, 'logger', 'TC')], [1, [21.5]]);
    const again = await run([...args, '--skip-duplicates']);
    assert.match(again.stdout, /0 datapoints stored, 1 there already/);
    assert.deepEqual(await readValues(first, 'logger', 'TC'), [21.5]);
  });

  test('reads other encodings, and standard input', async () => {
    await makeDevice(first, 'old', []);
    const path = join(folder, 'old.csv');
    writeFileSync(path, Buffer.from('time;Größe (°)\n2024-01-01 00:00;1,5\n', 'latin1'));
    const refused = await run(['import', path, '--device', 'old']);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /not in UTF-8.*--encoding/);
    const done = await run(['import', path, '--device', 'old', '--encoding', 'windows-1252', '--create-sensors']);
    assert.deepEqual([done.code, await readValues(first, 'old', 'Grosse')], [0, [1.5]], done.stderr);
    const input = '{"sensor":"Grosse","time":"2024-01-02T00:00:00Z","value":"two"}\n';
    const piped = await run(['import', '-', '--format', 'ndjson', '--device', 'old'], { input });
    assert.deepEqual([piped.code, await readValues(first, 'old', 'Grosse')], [0, [1.5, 'two']], piped.stderr);
  });

  test('says what is missing, and what cannot be, and ends with 2', async () => {
    const path = file('odd.csv', '1,2\n3,4\n');
    const rows: readonly (readonly [args: readonly string[], message: RegExp, settings?: Record<string, string>])[] = [
      [[path], /No column is the time/],
      [[path, '--dry-run'], /missing: No column is the time/],
      [[path, '--timezone', 'Mars'], /timezone must be a time zone/],
      [['/nowhere.csv'], /There is no file/],
      [[file('empty.csv', '')], /empty|No column/],
      [[path, '--url', 'http://127.0.0.1:1'], /cannot be reached/],
      [[path, '--url', 'x'], /--url must be like/],
      [[path, '--user', 'admin'], /Wrong|wrong|password/, { DUNDUN_PASSWORD: 'something else' }],
      [[path, '--token', 'none'], /token/],
    ];
    for (const [args, message, settings = {}] of rows) {
      const { code, stderr } = await run(['import', ...args], { settings });
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /\n {4}at /);
      assert.equal(code, 2, stderr);
    }
  });

  test('of a large file goes in parts, as if it came whole, and stores each once where answers are lost', async () => {
    await makeDevice(first, 'large', ['TC', 'note']);
    const count = 120_000;
    const lines = Array.from({ length: count }, (_, n) => `${new Date(Date.UTC(2020, 0, 1) + n * 1000).toISOString()};${n},5;"a\n${n}"\n`); // biome-ignore format: one line
    lines[100_000] = 'bad;1;2\n';
    const path = file('large.csv', `Logger 7\nWhen;TC;note\n${lines.join('')}`);
    const lossy = await losingAnswers(first.url, (n) => n === 1);
    const args = ['import', path, '--device', 'large', '--map', 'When=timestamp', '--create-sensors'];
    const { code, stdout, stderr } = await run(args, { on: lossy }).finally(lossy.close);
    assert.equal(code, 1, stderr);
    assert.match(stdout, new RegExp(`${count} lines, ${2 * (count - 1)} datapoints stored, 1 refused`));
    // Each line takes two, because of its quotes.
    assert.match(stderr, new RegExp(`line ${3 + 2 * 100_000}: "bad" is no time`));
    assert.match(stderr, /no answer; trying again/);
    const values = await readValues(first, 'large', 'TC');
    assert.equal(values.length, count - 1);
    assert.ok(values.every((value, n) => value === (n < 100_000 ? n : n + 1) + 0.5));
  });
});

suite('dundun export', () => {
  test('and import of what it wrote, and export again, are the same bytes', async () => {
    await makeDevice(first, 'from', ['a', 'b']);
    const points = [1.5, 'text', '42', null, { a: [1] }, true].map((value, n) => ({
      value,
      ...(n % 3 === 0 ? {} : { timestamp: `2024-01-0${n + 1}T00:00:00Z` }),
    }));
    for (const sensor of ['a', 'b'])
      await call(first, `/api/v2/devices/from/sensors/${sensor}/values`, { json: points });
    const token = await login(second);
    for (const format of ['csv', 'ndjson']) {
      const [one, other] = [file(`one.${format}`), file(`other.${format}`)];
      assert.equal((await run(['export', '--device', 'from', '--out', one])).code, 0);
      await makeDevice(second, 'from', []);
      const as = { on: second, settings: { DUNDUN_TOKEN: String(token) } };
      const brought = await run(['import', one, '--keep-received', '--create-sensors'], as);
      assert.equal(brought.code, 0, brought.stderr);
      assert.equal((await run(['export', '--device', 'from', '--out', other], as)).code, 0);
      assert.equal(readFileSync(other, 'utf8'), readFileSync(one, 'utf8'));
      assert.equal(existsSync(`${one}.part`), false);
      await call(second, '/api/v2/devices/from', { method: 'DELETE', token: String(token) });
    }
  });

  test('takes spans and sensors, to standard output or as Parquet', async () => {
    const { stdout } = await run(['export', '--device', 'from', '--sensor', 'a', '--from', '2024-01-02', '--to', '2024-01-03', '--out', '-']); // biome-ignore format: one line
    assert.match(stdout, /^device_id,sensor_id,timestamp,date_received,value\r\nfrom,a,2024-01-02T00:00:00Z,[^,]*,"""text"""\r\nfrom,a,2024-01-03T00:00:00Z,[^,]*,"""42"""\r\n$/); // biome-ignore format: one line
    const path = file('from.parquet');
    assert.equal((await run(['export', '--device', 'from', '--out', path])).code, 0);
    const rows = await parquetReadObjects({ file: new Uint8Array(readFileSync(path)).buffer });
    assert.equal(rows.length, 12);
    assert.ok(rows.some(({ value }) => value === 1.5));
  });

  test('that is refused leaves no file and ends with 2', async () => {
    const path = file('none.csv');
    const { code, stderr } = await run(['export', '--device', 'nix', '--out', path]);
    assert.deepEqual([code, existsSync(path), existsSync(`${path}.part`)], [2, false, false]);
    assert.match(stderr, /There is no device nix/);
    assert.equal((await run(['export', '--device', 'from', '--out', join(folder, 'no/where.csv')])).code, 2);
  });
});

test('the help of every verb fits a terminal of 130 columns', async () => {
  for (const args of [['import'], ['export'], ['user', 'import'], []]) {
    const { stdout } = await runVerb([...args, '--help']);
    for (const line of stdout.split('\n')) assert.ok(line.length <= 130, line);
  }
});

/** Stands before a service and loses the answers that are chosen, after the service has given them. */
async function losingAnswers(url: string, isLost: (n: number) => boolean) {
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    const n = count;
    count += 1;
    const { method, headers } = incoming;
    const onward = request(`${url}${incoming.url}`, { method: method ?? '', headers }, (answer) => {
      if (isLost(n)) answer.resume().on('end', () => outgoing.destroy());
      else answer.pipe(outgoing.writeHead(answer.statusCode ?? 0, answer.headers));
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
