// What of a project stands in its address: the sensors of its chart, and how far back it goes.

export const chartSpans = [1, 7, 30, 365] as const;
export type ChartSpan = (typeof chartSpans)[number];

/** A device and one of its sensors. */
export type SensorRef = readonly [device: string, sensor: string];

export interface ProjectSearch {
  readonly sensors?: readonly SensorRef[] | undefined;
  readonly days?: ChartSpan | undefined;
}

export function parseProjectSearch(raw: Record<string, unknown>): ProjectSearch {
  const sensors = Array.isArray(raw['sensors']) ? raw['sensors'].filter(isSensorRef) : undefined;
  return { sensors, days: chartSpans.find((span) => span === raw['days']) };
}

function isSensorRef(raw: unknown): raw is SensorRef {
  return Array.isArray(raw) && raw.length === 2 && raw.every((part) => typeof part === 'string');
}
