// The variables in a message or in a text that an actuator is set to (spec 2.5, contract 7): `{id}` is the sensor that
// made the rule fire, `{<sensor id>}` the last value of that sensor; `${…}` the same. What names nothing stays as it is.
import type { Json } from '../../../base/text/json.ts';
import { limits } from '../../../config/limits.ts';
import type { Lookup } from './expression-evaluation.ts';

// No id holds braces that would make this ambiguous in practice; what is too long for one names nothing.
const variable = /\$?\{([^{}\s]+)\}/g;

/** The sensors whose values the text shows. */
export function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(variable)].map(([, name]) => name as string))].filter((name) => name !== 'id');
}

/** The text with its variables replaced, cut off where it grows beyond what is sent. */
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

// A double has that many decimal digits that mean something; what calculating leaves behind them is not for people.
const digits = 15;

function shown(value: Json): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(digits)));
  return typeof value === 'string' ? value : JSON.stringify(value);
}
