// Variables in a message or in the text for an actuator (spec 2.5, contract 7): `{id}` is the sensor that made the rule
// fire, `{<sensor id>}` the last value of that sensor; `${…}` is the same. Unknown names stay as they are.
import type { Json } from '../../../base/text/json.ts';
import { limits } from '../../../config/limits.ts';
import type { Lookup } from './expression-evaluation.ts';

// Sensor ids hardly ever contain braces; a name too long for an id stays as it is.
const variable = /\$?\{([^{}\s]+)\}/g;

/** The sensors whose values the text contains. */
export function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(variable)].map(([, name]) => name as string))].filter((name) => name !== 'id');
}

/** The text with variables replaced, cut off at the maximum length of a message. */
export function replaceVariables(text: string, sensor: string, lookup: Lookup): string {
  const replaced = text.replace(variable, (whole, name: string) => {
    if (name === 'id') return sensor;
    const value = lookup(name);
    return value === undefined ? whole : shown(value);
  });
  if (replaced.length <= limits.sentCharsMax) return replaced;
  const cut = replaced.slice(0, limits.sentCharsMax - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

// Significant decimal digits of a double; further ones are rounding noise.
const digits = 15;

function shown(value: Json): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(digits)));
  return typeof value === 'string' ? value : JSON.stringify(value);
}
