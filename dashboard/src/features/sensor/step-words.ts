// How long the steps of a chart are, in words.

const units = [
  { unit: 'month', ms: 28 * 86_400_000 },
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
  { unit: 'second', ms: 1_000 },
] as const;

export function durationOf(ms: number, tag: string): string {
  const { unit, ms: size } = units.find((one) => ms >= one.ms) ?? units[4];
  const count = unit === 'month' ? Math.round(ms / (30.44 * 86_400_000)) : ms / size;
  return new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
