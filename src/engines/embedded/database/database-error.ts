// Translates an error of SQLite into the reasons for which a write can fail.
import type { WriteFailure } from '../../shared/write-failure.ts';

const constraintUnique = new Set([1555, 2067]);
const constraintForeignKey = 787;
/**
 * Raised by triggers. Those of the quotas (migration 0017) have the message `full` or `quota …`, those of former ids (0034)
 * `exists`.
 */
const constraintTrigger = 1811;
/** The disk is full; and the index of the write-ahead log, a file of its own, cannot grow. */
const fullCodes = new Set([13, 4874]);
const storageCodes = new Set([5, 6, 8, 10, 11, 13, 14, 26]);
/** A page that is no page of a database, and a file that is none. */
const damageCodes = new Set([11, 26]);

/** The failure that an error of SQLite, or any other error, stands for. */
export function writeFailureOf(error: unknown): WriteFailure {
  const { errcode = 0, message = String(error) } = error as { errcode?: number; message?: string };
  if (constraintUnique.has(errcode)) return { kind: 'exists', message };
  if (errcode === constraintForeignKey) return { kind: 'gone', message };
  if (errcode === constraintTrigger && message === 'exists') return { kind: 'exists', message };
  if (errcode === constraintTrigger && message === 'full') return { kind: 'growth', message };
  if (errcode === constraintTrigger && message.startsWith('quota ')) return { kind: 'quota', message };
  // The low byte of an extended code is the primary one: busy, locked, read-only, I/O error, corrupt, full, cannot
  // open, no database.
  if (!storageCodes.has(errcode & 0xff)) return { kind: 'internal', message };
  if (damageCodes.has(errcode & 0xff)) return { kind: 'storage', message, isDamaged: true };
  return fullCodes.has(errcode) ? { kind: 'storage', message, isFull: true } : { kind: 'storage', message };
}
