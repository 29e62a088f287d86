// Records between the two versions: each is version 2's with its fields under the older names, and back.
import type { FastifyRequest } from 'fastify';
import { toNewerFields, toNewerFilter, toOlderFields } from './words.ts';

type Record = { readonly [key: string]: unknown };

/** The domain of what names none, and of whatever comes by a path of version 1.0 (contract 9). */
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

/** A sensor to add as version 2 takes it: what only version 2 has is none here. */
export function toNewerSensor(body: unknown): unknown {
  if (!isRecord(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'retention_days'));
}

/** A device to create as version 2 takes it. What is no object is for the schema to refuse. */
export function toNewerDevice(body: unknown, options: { readonly isDomainFixed: boolean }): unknown {
  if (!isRecord(body)) return body;
  const draft = toNewerFields(body);
  const { sensors } = draft;
  if (Array.isArray(sensors)) draft['sensors'] = sensors.map(toNewerSensor);
  return { ...draft, domain: options.isDomainFixed ? defaultDomain : (draft['domain'] ?? defaultDomain) };
}

/** A notification as version 1 shows it, its condition and action included. */
export function toOlderNotification(rule: Record): Record {
  return toOlderFields(translateParts(rule, toOlderFields));
}

/** A notification, or a change of one, as version 2 takes it. */
export function toNewerNotification(body: unknown): unknown {
  return isRecord(body) ? translateParts(toNewerFields(body), toNewerFields) : body;
}

/** The parts of a notification of version 2 that have fields of their own: its condition, and what its action holds. */
function translateParts(rule: Record, translate: (part: Record) => Record): Record {
  const { condition, action } = rule;
  const parts: { [key: string]: unknown } = {};
  if (isRecord(condition)) parts['condition'] = translate(condition);
  if (isRecord(action) && isRecord(action['value'])) {
    parts['action'] = { ...action, value: translate(action['value']) };
  }
  return { ...rule, ...parts };
}

/** Has the filter of a list name its fields as version 2 does. */
export function translateFilter(request: FastifyRequest, options: { readonly isDeep: boolean }): void {
  const query = request.query as { q?: unknown };
  if (typeof query.q === 'string') query.q = toNewerFilter(query.q, options);
}

/** A JSON object; a body of text or of lines is none. */
function isRecord(value: unknown): value is Record {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
