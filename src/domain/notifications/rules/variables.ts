// Variables in a message or in the text for an actuator (spec 2.5, contract 7): `{id}` is the sensor that made the rule
// fire, `{<sensor id>}` the last value of that sensor; `${…}` is the same. Beside them `{device}`, `{value}` and others name
// what the message is about; a sensor of the device that has such an id comes first, as it did before these were there.
// Unknown names stay as they are.
import type { Json } from '../../../base/text/json.ts';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import type { Device } from '../../devices/device.ts';
import { namedSensorOf } from '../../devices/former-ids/sensors-with-former.ts';
import type { Lookup } from './expression-evaluation.ts';

// Sensor ids hardly ever contain braces; a name too long for an id stays as it is.
const variable = /\$?\{([^{}\s]+)\}/g;

/** What a text is about. */
export interface TextSubject {
  readonly device: Device;
  /** Whether the author may view the device: names and units are not told by the right to view its values alone. */
  readonly isDescribed: boolean;
  /** The sensor that made the rule fire, and when. */
  readonly event: { readonly sensor: string; readonly atMs: number };
  readonly lookup: Lookup;
  /** Where the dashboard is reached, such as https://fields.example; empty: not known, and links are paths. */
  readonly origin: string;
}

/** The words beside ids of sensors. */
const words: Readonly<Record<string, (subject: TextSubject) => string>> = {
  device: ({ device, isDescribed }) => (isDescribed && device.name) || device.id,
  device_id: ({ device }) => device.id,
  sensor: (subject) => describedSensorOf(subject)?.name || subject.event.sensor,
  value: ({ event, lookup }) => {
    const value = lookup(event.sensor);
    return value === undefined ? '–' : shown(value);
  },
  unit: (subject) => shortened(describedSensorOf(subject)?.unit ?? '', limits.wordCharsMax),
  time: ({ event }) => formatTimestamp(event.atMs),
  link: linkOf,
};

/** The sensors whose values the text contains. */
export function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(variable)].map(([, name]) => name as string))].filter((name) => name !== 'id');
}

/** The sensor that made the rule fire, where its description may be told. */
export function describedSensorOf({ device, isDescribed, event }: Omit<TextSubject, 'lookup' | 'origin'>) {
  return isDescribed ? namedSensorOf(device, event.sensor) : undefined;
}

/** The address of the page that shows the sensor. */
export function linkOf({ device, event, origin }: Pick<TextSubject, 'device' | 'event' | 'origin'>): string {
  return `${origin}/devices/${encodeURIComponent(device.id)}/sensors/${encodeURIComponent(event.sensor)}`;
}

/** The text with variables replaced, cut off at the maximum length of a message. */
export function replaceVariables(text: string, subject: TextSubject): string {
  const replaced = text.replace(variable, (whole, name: string) => {
    if (name === 'id') return subject.event.sensor;
    const value = subject.lookup(name);
    if (value !== undefined) return shown(value);
    // A sensor that never had a value: there is nothing to say of it.
    if (!Object.hasOwn(words, name) || namedSensorOf(subject.device, name) !== undefined) return whole;
    return words[name]?.(subject) ?? whole;
  });
  return shortened(replaced, limits.sentCharsMax);
}

function shortened(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = text.slice(0, charsMax - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

// Significant decimal digits of a double; further ones are rounding noise.
const digits = 15;

function shown(value: Json): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(digits)));
  return typeof value === 'string' ? value : JSON.stringify(value);
}
