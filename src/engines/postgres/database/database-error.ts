// Translates an error of PostgreSQL, or of the connection to it, into the reasons for which a read or write can fail.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { refusalOf, type WriteFailure } from '../../shared/write-failure.ts';

/** Raised by triggers (migration 0001): the data may not grow, and a quota would be exceeded. */
const growthCode = 'DU001';
const quotaCode = 'DU002';

const uniqueViolation = '23505';
const foreignKeyViolation = '23503';
const diskFull = '53100';
const queryCanceled = '57014';
const readOnly = '25006';
/** Another transaction was in the way: the same one again may succeed. */
const conflictCodes = new Set(['40001', '40P01']);
/**
 * Classes in which the server does not do its work: no connection, invalid authorization, transaction ended, resources, not
 * in the state that is needed (locks), stopped by a person or a time limit, errors of its system, damage.
 */
const storageClasses = new Set(['08', '28', '25', '40', '53', '55', '57', '58', 'F0', 'XX']);
/** Of the connection itself, where no server has answered. */
const networkCodes =
  /^(ECONN|EPIPE|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|ENOENT|EACCES|CERT_|ERR_TLS|ERR_SSL|DEPTH_|SELF_SIGNED|UNABLE_)/;
const lostMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout|Client was closed|Cannot use a pool|Called end on pool)/;

interface DatabaseError {
  readonly code?: string;
  readonly message?: string;
}

/** Whether the connection has broken: what was under way on it may have been done or not. */
export function isConnectionLost(error: unknown): boolean {
  const { code = '', message = '' } = error as DatabaseError;
  return networkCodes.test(code) || lostMessages.test(message) || /^(08|57P0[123])/.test(code) || code === '25P03';
}

/** Whether the connection must not be used again. */
export function isBroken(error: unknown): boolean {
  return error !== undefined && (error as { severity?: string }).severity !== 'ERROR';
}

/** Whether pg has stopped waiting. It goes on to use the connection then. */
export function isUnanswered(error: unknown): boolean {
  return (error as Error).message === 'Query read timeout';
}

/** Whether the time of the statement was up, as the server says, or pg. */
export function isTimeUp(error: unknown): boolean {
  return (error as DatabaseError).code === queryCanceled || isUnanswered(error);
}

/** Whether the same transaction may succeed when it is run again. */
export function isConflict(error: unknown): boolean {
  return conflictCodes.has((error as DatabaseError).code ?? '');
}

/**
 * Whether what failed so may succeed a moment later, without anybody's doing: no connection, a conflict, or a standby that is not
 * the primary yet.
 */
export function mayPass(error: unknown): boolean {
  return isConnectionLost(error) || isConflict(error) || isReadOnly(error);
}

/** Whether the server is a standby, or no primary any more. */
export function isReadOnly(error: unknown): boolean {
  return (error as DatabaseError).code === readOnly;
}

/** The failure that an error of PostgreSQL, or any other error, stands for. */
export function writeFailureOf(error: unknown): WriteFailure {
  const { code = '', message = String(error) } = error as DatabaseError;
  if (code === uniqueViolation) return { kind: 'exists', message };
  if (code === foreignKeyViolation) return { kind: 'gone', message };
  if (code === growthCode) return { kind: 'growth', message };
  if (code === quotaCode) return { kind: 'quota', message };
  if (code === diskFull) return { kind: 'storage', message, isFull: true };
  if (isConnectionLost(error) || (code.length === 5 && storageClasses.has(code.slice(0, 2)))) {
    return { kind: 'storage', message };
  }
  return { kind: 'internal', message };
}

/** The error with which a write rejects: a refusal where it is known, else the error itself. */
export function writeRefusalOf(error: unknown): Error {
  if (error instanceof Refusal) return error;
  const failure = writeFailureOf(error);
  return failure.kind === 'internal' ? (error as Error) : refusalOf(failure);
}

/** The error with which a read rejects; the end of its time stays as it is. */
export function readRefusalOf(error: unknown): Error {
  if ((error as DatabaseError).code === queryCanceled) return error as Error;
  if (error instanceof Refusal || writeFailureOf(error).kind !== 'storage') return error as Error;
  return new Refusal('storage', 'The database does not answer. Send the request again later.', {
    cause: error,
    retryAfterS: limits.storageRetryAfterS,
  });
}
