// Which test files of a whole run are asked once more, by themselves, because they failed beside others: browsers and processes wait in
// real time, and two of them share a machine that may be slow. What fails by itself has failed; what holds is named at the end, because
// it tells of a race, in the service or in the test. Used by test.ts.
import type { Round } from './test-rounds.ts';

/** More that fail are no chance. */
const filesMax = 3;

/** Laws have one answer however busy the machine is, and so has what a kill, an outage or a handover may lose. */
const neverAgain = /^test\/laws\/|crash|kill|power|outage|moves|damage/;

/**
 * The files of the failures that failed-tests.ts has written of the round; undefined where these stand as they are.
 * @param testFiles all there are: the process of a bundle that ended by itself is none of them.
 */
export function filesAgain(
  { isAskedAgain }: Pick<Round, 'isAskedAgain'>,
  written: string,
  testFiles: readonly string[],
): readonly string[] | undefined {
  if (isAskedAgain !== true) return undefined;
  const files = [
    ...new Set(Array.from(written.matchAll(/^(\S.*)$/gm), ([line]) => /^(\S+?):\d+: /.exec(line)?.[1] ?? '')),
  ];
  const mayBeAsked = (file: string) => testFiles.includes(file) && !neverAgain.test(file);
  return files.length > 0 && files.length <= filesMax && files.every(mayBeAsked) ? files : undefined;
}
