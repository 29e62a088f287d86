// Readings as the generators send them: always the same number of characters, never the same value for long, with a
// timestamp that moves on, so that the server has real work and the generator little.

const values = Array.from({ length: 4096 }, (_, i) => (10 + ((i * 7919) % 8999) / 100).toFixed(2));
let turn = 0;

/** A temperature of five characters. */
export function valueText(): string {
  turn = (turn + 1) & 4095;
  return values[turn] as string;
}

/** Gives the text of the next reading. */
export type NextReading = () => string;

let timestampMs = Date.UTC(2026, 0, 1);

/** `{"value":…,"timestamp":…}`, always of the same length. */
export function readingText(): string {
  timestampMs += 25;
  return textOf(timestampMs);
}

/** The same, measured now. */
export function currentReadingText(): string {
  return textOf(Date.now());
}

function textOf(ms: number): string {
  return `{"value":${valueText()},"timestamp":"${new Date(ms).toISOString()}"}`;
}
