// How far sealing is behind: 0 while it keeps up, 1 where the log in memory is full and commits wait until a pass has ended.
// Between the two commits leave more and more time to the sealer, so that none waits for a whole pass (decision 65). Used
// by the control of sealing on both engines.
import { limits } from '../../../config/limits.ts';

export interface LogLength {
  /** Datapoints that wait to be sealed. */
  readonly rows: number;
  /** So many at which a pass begins. */
  readonly rowsMin: number;
  /** So many from which large batches wait; Infinity while that is not known. */
  readonly rowsBehind: number;
  /** Characters of texts among them. */
  readonly textChars: number;
}

/** By datapoints or by their texts, whichever are further; each from halfway between what a pass begins with and what the log may hold. */
export function sealingDebtOf({ rows, rowsMin, rowsBehind, textChars }: LogLength): number {
  const { headRowsMax, headTextCharsMax, sealTextCharsMax } = limits;
  return Math.max(
    shareOf(rows, { from: Math.min(rowsBehind, (rowsMin + headRowsMax) / 2), full: headRowsMax }),
    shareOf(textChars, { from: (sealTextCharsMax + headTextCharsMax) / 2, full: headTextCharsMax }),
  );
}

function shareOf(length: number, { from, full }: { readonly from: number; readonly full: number }): number {
  if (length <= from) return 0;
  return length >= full ? 1 : (length - from) / (full - from);
}
