// Which test files there are, and which of them `npm test -- fast` leaves out. A file is in a set by its folder or by how
// its name ends, so that a new one needs no list. Used by test.ts; test/process/test-sets.test.ts holds every file against it.
import { globSync } from 'node:fs';

interface SlowSet {
  readonly name: string;
  /** In the words of `npm test -- …`. */
  readonly words: string;
  readonly isOf: RegExp;
}

/** What `npm test -- fast` leaves out. */
export const slowSets: readonly SlowSet[] = [
  { name: 'attacks on a running service', words: 'test/attacks', isOf: /^test\/attacks\// },
  { name: 'long properties against a model', words: 'test/laws', isOf: /^test\/laws\// },
  { name: 'pages in a browser', words: 'test/dashboard .browser.', isOf: /^test\/dashboard\/|\.browser\.test\.ts$/ },
  {
    name: 'processes: kills, power cuts, signals, the command line',
    words: 'test/process .process.',
    isOf: /^test\/process\/|\.process\.test\.ts$/,
  },
];

/** Every test file, by its path from the root of the project. */
export function findTestFiles(): string[] {
  return globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort();
}

/** The set for which `npm test -- fast` leaves the file out, if any. */
export function slowSetOf(file: string): SlowSet | undefined {
  return slowSets.find(({ isOf }) => isOf.test(file));
}
