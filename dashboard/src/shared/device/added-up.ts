// Whether the values of a sensor are amounts that add up, as those of a rain gauge do: a chart shows the sum of each day.
// Told from its kind, else from its name in the languages we know, and only where the unit is one of rain.
import type { Sensor } from '../../api/client.ts';

type About = Pick<Sensor, 'id' | 'name' | 'unit' | 'sensor_kind' | 'quantity_kind'>;

const units = /^(mm|cm|in|inch(es)?|milli-?met(er|re)s?|millim|l\/m(2|²)|mm\/(10|15|30) ?min)$/i;
const words = /rain|precipit|pluie|pluvio|pr[eé]cipit|lluvia|chuva|niederschlag|regen|mvua/i;

export function isAddedUp({ id, name = '', unit = '', sensor_kind = '', quantity_kind = '' }: About): boolean {
  return units.test(unit.trim()) && [sensor_kind, quantity_kind, name, id].some((text) => words.test(text));
}
