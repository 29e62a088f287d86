// Removes fields that are null from the record in a body, because null counts as absent (contract 1). Runs before
// validation, on the fields of the record and of its parts; what is inside `meta`, `calib` or a value stays unchanged.
import type { FastifyRequest } from 'fastify';

/** A preValidation hook for bodies that are devices, sensors, actuators, gateways or projects. */
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

/** A preValidation hook for notifications. The value that an action sets an actuator to may be null, so it is kept. */
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
    // `value` of an actuator may be null: that is a value.
    if (value === null && !(options.keepValue === true && field === 'value')) delete record[field];
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
