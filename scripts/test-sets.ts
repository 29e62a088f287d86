// Which test files there are, and which of them `npm test -- fast` leaves out. A file is in a set by its folder or by how
// its name ends, so that a new one needs no list; but for those that fill what is bounded, which are named here. Used by
// test.ts; test/process/project/test-sets.test.ts holds every file against it.
import { globSync } from 'node:fs';

/**
 * Fill queues, shares and lists up to their bounds, call everything with everything, or wait in real time (for a lock, for
 * the end of a search, for the disk): six seconds and more each, or three with nothing else in them.
 */
export const heavyFiles: readonly string[] = [
  'src/engines/embedded/mqtt/mqtt-persistence.test.ts',
  'src/engines/embedded/mqtt/mqtt-retained.test.ts',
  'src/engines/embedded/threads/search-time.test.ts',
  'test/http/accounts/export.test.ts',
  'test/http/accounts/guest-shares.test.ts',
  'test/http/accounts/socials.test.ts',
  'test/http/datapoints/bulk.test.ts',
  'test/http/datapoints/import-stores.test.ts',
  'test/http/datapoints/list-weight.test.ts',
  'test/http/datapoints/live.test.ts',
  'test/http/datapoints/lost-replies.test.ts',
  'test/http/datapoints/push-fast-path.test.ts',
  'test/http/datapoints/sensors-data.test.ts',
  'test/http/devices/device-positions.test.ts',
  'test/http/devices/large-devices.test.ts',
  'test/http/devices/permissions.test.ts',
  'test/http/notifications/alarm-handling.test.ts',
  'test/http/notifications/alarms.test.ts',
  'test/http/server/bad-input.test.ts',
  'test/http/server/fair-connections.test.ts',
  'test/http/server/fair-reads.test.ts',
  'test/http/server/fair-shares.test.ts',
  'test/http/server/openapi.test.ts',
  'test/http/server/text-bounds.test.ts',
  'test/http/server/traces.test.ts',
  'test/http/server/v1-permissions.test.ts',
  'test/mqtt/bounds.test.ts',
  'test/mqtt/connecting/reconnects.test.ts',
  'test/mqtt/connecting/sessions.test.ts',
  'test/mqtt/publishing/duplicates.test.ts',
  'test/mqtt/publishing/push-turns.test.ts',
  'test/mqtt/publishing/repeats.test.ts',
  'test/mqtt/publishing/turns.test.ts',
  'test/mqtt/quotas.test.ts',
  'test/mqtt/subscribing/fair-deliveries.test.ts',
  'test/storage/data-cap.test.ts',
  'test/storage/dialects/portable-sql.test.ts',
  'test/storage/engines-maintenance.test.ts',
  'test/storage/engines.test.ts',
  'test/storage/storage-failure.test.ts',
];

/**
 * Take several times as long as others, by what they start or by how many rows they have. The whole run has them share processes as the fast
 * ones do.
 */
export const longFiles: readonly string[] = [
  'test/http/accounts/lookalikes.test.ts',
  'test/http/accounts/password-resets.test.ts',
  'test/http/datapoints/corrections.test.ts',
  'test/http/datapoints/exact-numbers.test.ts',
  'test/http/datapoints/latest.test.ts',
  'test/http/devices/moved-sensors.test.ts',
  'test/http/devices/record-shares-devices.test.ts',
  'test/http/devices/refusal-loops.test.ts',
  'test/http/devices/renamed-device-users.test.ts',
  'test/http/devices/renamed-devices.test.ts',
  'test/http/devices/renamed-sensors.test.ts',
  'test/http/notifications/clock-doubt.test.ts',
  'test/http/notifications/silence-alarms.test.ts',
  'test/http/server/clock.test.ts',
  'test/http/server/compression.test.ts',
  'test/http/server/security-headers.test.ts',
  'test/mqtt/connecting/certificates.test.ts',
  'test/mqtt/connecting/wills.test.ts',
  'test/mqtt/downlinks/missed.test.ts',
  'test/mqtt/publishing/waiting-publishes.test.ts',
  'test/mqtt/subscribing/attacked-stores.test.ts',
  'test/mqtt/subscribing/attacked-windows.test.ts',
  'test/mqtt/subscribing/kept-retained.test.ts',
  'test/mqtt/v5/kept-wills.test.ts',
  'test/mqtt/v5/refused.test.ts',
  'test/mqtt/v5/rows.test.ts',
];

interface SlowSet {
  readonly name: string;
  /** In the words of `npm test -- …`. */
  readonly words: string;
  readonly isOf: (file: string) => boolean;
}

/** What `npm test -- fast` leaves out. */
export const slowSets: readonly SlowSet[] = [
  { name: 'attacks on a running service', words: 'test/attacks', isOf: (file) => file.startsWith('test/attacks/') },
  { name: 'long properties against a model', words: 'test/laws', isOf: (file) => file.startsWith('test/laws/') },
  {
    name: 'pages in a browser',
    words: 'test/dashboard .browser.',
    isOf: (file) => /^test\/dashboard\/|\.browser\.test\.ts$/.test(file),
  },
  {
    name: 'processes: kills, power cuts, signals, the command line',
    words: 'test/process .process.',
    isOf: (file) => /^test\/process\/|\.process\.test\.ts$/.test(file),
  },
  {
    name: 'what is filled up to its bounds, or waits in real time',
    words: wordsOf(heavyFiles),
    isOf: (file) => heavyFiles.includes(file),
  },
  {
    name: 'what takes several times as long as others',
    words: wordsOf(longFiles),
    isOf: (file) => longFiles.includes(file),
  },
];

/** Every test file, by its path from the root of the project. */
export function findTestFiles(): string[] {
  return globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort();
}

/** The set for which `npm test -- fast` leaves the file out, if any. */
export function slowSetOf(file: string): SlowSet | undefined {
  return slowSets.find(({ isOf }) => isOf(file));
}

/** Whether the file looks at the dashboard in a browser. */
export function isOfDashboard(file: string): boolean {
  return file.startsWith('test/dashboard/');
}

/**
 * Whether the file may share a process with others, while two more such processes run beside it: not what starts processes itself, and
 * not what waits in real time.
 */
export function mayShare(file: string): boolean {
  return slowSetOf(file) === undefined || longFiles.includes(file);
}

/** Whether the whole run has the file ask its servers once more with their data on PostgreSQL. */
export function isTriedOnPostgres(file: string): boolean {
  const isLeftOut = notOnPostgres.some(({ file: out }) => out === file);
  return /^test\/(http|mqtt)\//.test(file) && mayShare(file) && !isLeftOut;
}

/** Files of the public door that could share a process, but cannot hold with the data on PostgreSQL, and why. */
export const notOnPostgres: readonly { readonly file: string; readonly because: string }[] = [];

function wordsOf(files: readonly string[]): string {
  return files.map((file) => /([^/]+\/[^/]+)\.test\.ts$/.exec(file)?.[1]).join(' ');
}
