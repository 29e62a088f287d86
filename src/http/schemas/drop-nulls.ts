// A field that is null in a record counts as absent (contract 1). Done before validation, on the fields of the
// record and of its parts; what is inside `meta`, `calib` or a value is the caller's own.
import type { FastifyRequest } from 'fastify';

/** A preValidation hook for bodies that are records. */
export function dropNulls(request: FastifyRequest, _reply: unknown, done: () => void): void {
  const body = request.body;
  if (isRecord(body)) {
    dropFrom(body, { keepValue: true });
    if (isRecord(body['location'])) dropFrom(body['location']);
    for (const parts of [body['sensors'], body['actuators']]) {
      if (Array.isArray(parts)) for (const part of parts) if (isRecord(part)) dropFrom(part, { keepValue: true });
    }
  }
  done();
}

/** The same for a notification; the value that an action sets an actuator to may well be null. */
export function dropNotificationNulls(request: FastifyRequest, _reply: unknown, done: () => void): void {
  const body = request.body;
  if (isRecord(body)) {
    dropFrom(body);
    const { condition, action } = body;
    const message = isRecord(action) && action['type'] === 'SocialAction' ? action['value'] : undefined;
    for (const part of [condition, action, message]) if (isRecord(part)) dropFrom(part);
  }
  done();
}

function dropFrom(record: Record<string, unknown>, options: { readonly keepValue?: boolean } = {}): void {
  for (const [field, value] of Object.entries(record)) {
    // An actuator's `value` may well be null.
    if (value === null && !(options.keepValue === true && field === 'value')) delete record[field];
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
