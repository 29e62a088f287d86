// What of a project stands in its address: the sensors of its chart, and its span.
import { type Preset, parseSpan, type SpanSearch } from '../../shared/chart/span.ts';

/** A device and one of its sensors. */
export type SensorRef = readonly [device: string, sensor: string];

export interface ProjectSearch extends SpanSearch {
  readonly sensors?: readonly SensorRef[] | undefined;
}

/** As addresses said it once, which people have kept. */
const spanOfDays: Readonly<Record<string, Preset>> = { 1: '24h', 7: '7d', 30: '30d', 365: '1y' };

export function parseProjectSearch(raw: Record<string, unknown>): ProjectSearch {
  const sensors = Array.isArray(raw['sensors']) ? raw['sensors'].filter(isSensorRef) : undefined;
  const given = parseSpan(raw);
  return { ...given, span: given.span ?? spanOfDays[String(raw['days'])], sensors };
}

function isSensorRef(raw: unknown): raw is SensorRef {
  return Array.isArray(raw) && raw.length === 2 && raw.every((part) => typeof part === 'string');
}
