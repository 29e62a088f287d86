// Translates records between the two versions by renaming fields.
import type { FastifyRequest } from 'fastify';
import { toNewerFields, toNewerFilter, toOlderFields } from './words.ts';

type Record = { readonly [key: string]: unknown };

/** The domain of devices without one, and of everything under a path of version 1.0 (contract 9). */
const defaultDomain = 'default';

/** A device as version 1 shows it. */
export function toOlderDevice(device: Record): Record {
  const fields = toOlderFields(device);
  return { ...fields, measurements: (fields['measurements'] as readonly Record[]).map(toOlderSensor) };
}

/** A sensor of a device as version 1 shows it: its kind is `sensing_device` by whichever name it was given. */
export function toOlderSensor(sensor: Record): Record {
  const fields = Object.entries(sensor).filter(([name]) => name !== 'retention_days');
  return Object.fromEntries(fields.map(([name, value]) => [name === 'sensor_kind' ? 'sensing_device' : name, value]));
}

/** Converts a sensor draft to version 2; fields unknown to version 1 are dropped. */
export function toNewerSensor(body: unknown): unknown {
  if (!isRecord(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'retention_days'));
}

/** Converts a device draft to version 2. Anything but an object is left for the schema to refuse. */
export function toNewerDevice(body: unknown, options: { readonly isDomainFixed: boolean }): unknown {
  if (!isRecord(body)) return body;
  const draft = toNewerFields(body);
  const { sensors } = draft;
  if (Array.isArray(sensors)) draft['sensors'] = sensors.map(toNewerSensor);
  return { ...draft, domain: options.isDomainFixed ? defaultDomain : (draft['domain'] ?? defaultDomain) };
}

/** Converts a notification to version 1, with its condition and action. */
export function toOlderNotification(rule: Record): Record {
  return toOlderFields(translateParts(rule, toOlderFields));
}

/** Converts a notification, or a change of one, to version 2. */
export function toNewerNotification(body: unknown): unknown {
  return isRecord(body) ? translateParts(toNewerFields(body), toNewerFields) : body;
}

/** Translates the parts of a notification that have fields: condition and action. */
function translateParts(rule: Record, translate: (part: Record) => Record): Record {
  const { condition, action } = rule;
  const parts: { [key: string]: unknown } = {};
  if (isRecord(condition)) parts['condition'] = translate(condition);
  if (isRecord(action) && isRecord(action['value'])) {
    parts['action'] = { ...action, value: translate(action['value']) };
  }
  return { ...rule, ...parts };
}

/** Renames the fields in a list's filter to those of version 2. */
export function translateFilter(request: FastifyRequest, options: { readonly isDeep: boolean }): void {
  const query = request.query as { q?: unknown };
  if (typeof query.q === 'string') query.q = toNewerFilter(query.q, options);
}

/** True for a JSON object; false for a body of text or of lines (TextBody, LinesBody). */
function isRecord(value: unknown): value is Record {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
