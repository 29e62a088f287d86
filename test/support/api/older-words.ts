// Translates an answer of version 2 into version 1, written independently of the service's word map, so that tests can
// compare both.
import type { Twin } from './twin-calls.ts';

type Json = Record<string, unknown>;

/** `idOf` says which id version 1 gave the notification that version 2 calls so. */
export function inOlderWords(body: unknown, answers: Twin['answers'], idOf: (newer: unknown) => unknown): unknown {
  if (Array.isArray(body)) return body.map((one) => inOlderWords(one, answers, idOf));
  const record = body as Json;
  if (answers === 'device') {
    const { sensors, actuators: _, ...rest } = record;
    return { ...rest, measurements: inOlderWords(sensors, 'sensor', idOf) };
  }
  if (answers === 'sensor') {
    const { sensor_kind: other, ...rest } = record;
    return other === undefined ? rest : { ...rest, sensing_device: other };
  }
  if (answers === 'permission') {
    const scopes = (record['scopes'] as string[]).map((scope) => scope.replace(/^devices/, 'sensors'));
    return { ...record, scopes };
  }
  if (answers !== 'rule' || typeof record !== 'object') return record;
  const { condition: when, action: what, id, ...rest } = record;
  const { devices, sensors, ...kept } = when as Json;
  const older = {
    ...kept,
    ...(devices === undefined ? {} : { sensors: devices }),
    ...(sensors === undefined ? {} : { measurements: sensors }),
  };
  const { type, value, ...beside } = what as Json;
  const { device_id: watched, ...others } = (value ?? {}) as Json;
  const isActuation = type === 'ActuationAction';
  const notification = isActuation ? { ...beside, type, value: { sensor_id: watched, ...others } } : what;
  return { ...rest, id: idOf(id), condition: older, notification };
}

/** Version 1 sets the default domain where none was named; that alone is another. */
export function withoutDomain(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withoutDomain);
  if (typeof body !== 'object' || body === null || (body as Json)['domain'] !== 'default') return body;
  const { domain: _, ...rest } = body as Json;
  return rest;
}
