// Devices around a place, in SQL: the haversine of the angle between two places, which grows with their distance and is right
// across the date line and the poles. Each location is looked at, as by a filter on it, in the search thread.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { haversineOf, type Near } from '../../../../domain/devices/near.ts';
import type { SqlDialect } from '../sql-dialect.ts';

const radians = Math.PI / 180;

/** Grows with the distance of a device from the place; null without a location. */
export function nearness(near: Near, { jsonAt }: SqlDialect): RawBuilder<number> {
  const [latitude, longitude] = [placeOf(jsonAt, 'latitude'), placeOf(jsonAt, 'longitude')];
  const north = sql`sin((${latitude.number} - ${near.latitude}) * ${radians / 2})`;
  const east = sql`sin((${longitude.number} - ${near.longitude}) * ${radians / 2})`;
  const narrowing = sql`${Math.cos(near.latitude * radians)} * cos(${latitude.number} * ${radians})`;
  return sql<number>`(${north} * ${north} + ${narrowing} * ${east} * ${east})`;
}

/** True for devices within the distance. A location beyond the bounds, as earlier releases took them, is none. */
export function nearCondition(near: Near, dialect: SqlDialect): RawBuilder<SqlBool> {
  const [latitude, longitude] = [placeOf(dialect.jsonAt, 'latitude'), placeOf(dialect.jsonAt, 'longitude')];
  const isPlace = sql`device.location IS NOT NULL AND ${latitude.isNumber} AND ${longitude.isNumber}
    AND ${latitude.number} BETWEEN -90 AND 90 AND ${longitude.number} BETWEEN -180 AND 180`;
  return sql<SqlBool>`CASE WHEN ${isPlace} THEN ${nearness(near, dialect)} <= ${haversineOf(near)} ELSE 1 = 0 END`;
}

function placeOf(jsonAt: SqlDialect['jsonAt'], field: string) {
  return jsonAt(sql.ref('device.location'), [field]);
}
