// How far sealing is behind: 0 while it keeps up, 1 where the log in memory is full and commits wait until a pass has ended.
// Between the two commits leave more and more time to the sealer, so that none waits for a whole pass (decision 65). Used
// by the control of sealing on both engines.
import { limits } from '../../../config/limits.ts';

/**
 * @param log.rows datapoints that wait to be sealed.
 * @param log.rowsMin so many at which a pass begins.
 * @param log.rowsBehind so many from which sealing is behind, Infinity while that is not known.
 */
export function sealingDebtOf({
  rows,
  rowsMin,
  rowsBehind,
}: {
  readonly rows: number;
  readonly rowsMin: number;
  readonly rowsBehind: number;
}): number {
  const { headRowsMax } = limits;
  // Where a pass begins late, sealing is never behind before the log is full.
  const from = Math.min(rowsBehind, (rowsMin + headRowsMax) / 2);
  if (rows <= from) return 0;
  return rows >= headRowsMax ? 1 : (rows - from) / (headRowsMax - from);
}
