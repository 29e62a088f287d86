// What the columns of an imported file are: as the caller says (`Temp=TC;2=timestamp`), and as their names suggest. For
// JSON the keys are the columns. Called by import-plan.ts and line-reader.ts.
import { Refusal } from '../../base/refusal.ts';
import { isId } from '../schemas/ids.ts';

/** What a column is, but for the values of one sensor. */
const roleWords = ['timestamp', 'date', 'time', 'device', 'sensor', 'value', 'received', 'unit', 'ignore'] as const;
export type RoleWord = (typeof roleWords)[number];

/** A column of one sensor's values; without a device it is the one that the request names, or its line. */
export interface SensorRole {
  readonly device: string | undefined;
  readonly sensor: string;
}
export type Role = RoleWord | SensorRole;

export interface Column {
  /** From 1. */
  readonly place: number;
  /** In the header line, or the key; undefined where there is none. */
  readonly name: string | undefined;
  readonly role: Role;
  /** The unit in its name, such as °C in `Temp (°C)`. */
  readonly unit: string | undefined;
}

/** What the caller says of columns, by name or by number. */
export type Mapping = ReadonlyMap<string, Role>;

/** A sensor of the device that lines belong to, as far as columns are recognised by it. */
export interface KnownSensor {
  readonly id: string;
  readonly name?: string;
}

/** @throws Refusal `malformed` */
export function parseMapping(text: string | undefined): Mapping {
  const mapping = new Map<string, Role>();
  for (const entry of text?.split(';') ?? []) {
    if (entry.trim() === '') continue;
    // An id has no =, a name may.
    const end = entry.lastIndexOf('=');
    const name = entry.slice(0, end).trim();
    const role = parseRole(entry.slice(end + 1).trim());
    if (end < 1 || role === undefined) {
      const detail = `must be like Temp=TC;Date=timestamp: names or numbers of columns, and what each is: ${roleWords.join(', ')}, a sensor, or device/sensor`;
      throw new Refusal('malformed', `columns ${detail}.`, { faults: [{ pointer: '/columns', detail }] });
    }
    mapping.set(name, role);
  }
  return mapping;
}

function parseRole(text: string): Role | undefined {
  const word = aliases[text] ?? roleWords.find((known) => known === text);
  if (word !== undefined) return word;
  const [sensor = '', device] = text.split('/').reverse();
  if (!isId(sensor) || (device !== undefined && device !== '' && !isId(device))) return undefined;
  return { device: device === '' ? undefined : device, sensor };
}

const aliases: Readonly<Record<string, RoleWord>> = {
  '-': 'ignore',
  device_id: 'device',
  sensor_id: 'sensor',
  date_received: 'received',
};

/** As it is said in a mapping. */
export function roleText(role: Role): string {
  return typeof role === 'string' ? role : `${role.device ?? ''}/${role.sensor}`;
}

/** Names of columns that say what they are, in small letters without blanks; in some languages of loggers. */
const knownNames: Readonly<Record<Exclude<RoleWord, 'ignore'>, RegExp>> = {
  timestamp:
    /^(time_?stamp|date_?time|(date\/time|date_?and_?time|ts|epoch|unix(_?time)?|horodatage|zeitstempel|zeitpunkt|fecha_?y_?hora|data_?e_?hora|datum_?zeit|datum\/zeit|datum\/uhrzeit)$)/,
  date: /^(date|datum|fecha|data|jour|day)$/,
  time: /^(time|uhrzeit|zeit|heure|hora|ora|tijd)$/,
  device: /^(device|device_?id|deviceid|node|node_?id|station|station_?id)$/,
  sensor: /^(sensor|sensor_?id|sensorid|channel|parameter|variable|measurement)$/,
  value: /^(value|wert|messwert|valeur|valor|valore|reading)$/,
  received: /^(date_?received|received|received_?at)$/,
  unit: /^(unit|units|einheit|unité|unidad)$/,
};
/** Columns that count lines. */
const counters = /^(|#|no\.?|nr\.?|n°|index|record|rec(nbr|_?no)?|id|line|row)$/;

/** A name taken apart. */
interface NameParts {
  readonly bare: string;
  readonly unit: string | undefined;
  readonly plain: string;
  readonly word: RoleWord | undefined;
}

/** What columns are told by, and what was found out of names: those of JSON are read anew whenever a key is new. */
export class ColumnGuesses {
  readonly mapping: Mapping;
  readonly knownFor: KnownFor;
  readonly #parts = new Map<string, NameParts>();

  constructor(mapping: Mapping, knownSensors: readonly KnownSensor[]) {
    this.mapping = mapping;
    this.knownFor = sensorsByName(knownSensors);
  }

  /** Bounded by the columns that a file may have. */
  partsOf(name: string): NameParts {
    let parts = this.#parts.get(name);
    if (parts === undefined) {
      const { bare, unit } = splitUnit(name);
      const plain = bare.toLowerCase().replace(/\s+/g, '_');
      parts = { bare, unit, plain, word: wordFor(plain) };
      this.#parts.set(name, parts);
    }
    return parts;
  }
}

/** What each column is, by its name; where there is no header, by what is mapped alone. */
export function readColumns(names: readonly (string | undefined)[], guessing: ColumnGuesses): Column[] {
  const { mapping, knownFor } = guessing;
  const parts = names.map((name = '') => guessing.partsOf(name));
  const plain = parts.map((part) => part.plain);
  const mapped = mappedRoles(mapping, names);
  const words = parts.map((part) => part.word);
  const isLong = plain.some((name, n) => (mapped[n] ?? (knownNames.value.test(name) ? 'value' : '')) === 'value');
  const isMapped = [...mapping.values()].some((role) => typeof role !== 'string');
  const hasDate = words.some((word, n) => (mapped[n] ?? word) === 'date');
  const hasTimestamp = words.some((word, n) => (mapped[n] ?? word) === 'timestamp');
  const hasTime = words.includes('time');
  const taken = new Set<string>();
  return names.map((name, n) => {
    const { bare, unit } = parts[n] as NameParts;
    const role = (): Role => {
      const word = words[n];
      if (name === undefined) return 'ignore';
      if (word === 'time' || word === 'date') {
        if (hasTimestamp) return 'ignore';
        // A lone date or a lone time is both.
        return hasDate && hasTime ? word : 'timestamp';
      }
      if (isLong) return word ?? 'ignore';
      if (word !== undefined && ['timestamp', 'device', 'received'].includes(word)) return word;
      if (isMapped || counters.test(plain[n] ?? '')) return 'ignore';
      const sensor = sensorFor(name, bare, { place: n + 1, knownFor, taken });
      taken.add(sensor);
      return { device: undefined, sensor };
    };
    return { place: n + 1, name, role: mapped[n] ?? role(), unit };
  });
}

/** What is said of each column by its name or, where no column has that name, its number. */
function mappedRoles(mapping: Mapping, names: readonly (string | undefined)[]): (Role | undefined)[] {
  const trimmed = names.map((name) => name?.trim());
  const all = new Set(trimmed);
  return trimmed.map((name, n) => {
    const byName = name === undefined ? undefined : mapping.get(name);
    const number = String(n + 1);
    return byName ?? (all.has(number) ? undefined : mapping.get(number));
  });
}

/** @throws Refusal `malformed` where something is said of a column that is not there. */
export function assertMapped(mapping: Mapping, columns: readonly Column[]): void {
  const names = new Set(columns.flatMap(({ name, place }) => [String(place), name?.trim()]));
  for (const name of mapping.keys()) {
    if (names.has(name)) continue;
    const there = columns.map((column) => column.name ?? String(column.place)).slice(0, 20).join(', '); // biome-ignore format: one line
    const detail = `names ${JSON.stringify(name.slice(0, 60))}, which is no column; there are ${there.slice(0, 600)}`;
    throw new Refusal('malformed', `columns ${detail}.`, { faults: [{ pointer: '/columns', detail }] });
  }
}

function wordFor(plain: string): RoleWord | undefined {
  return roleWords.find((word) => word !== 'ignore' && knownNames[word].test(plain));
}

/** `Temp (°C)` and `Temp [°C]` are a name and its unit. */
function splitUnit(name: string): { readonly bare: string; readonly unit: string | undefined } {
  const bare = name.trim();
  const open = Math.max(bare.lastIndexOf('('), bare.lastIndexOf('['));
  const unit = bare.slice(open + 1, -1);
  const isUnit = /^[^()[\]]{1,30}$/.test(unit) && (bare.endsWith(')') || bare.endsWith(']'));
  return open > 0 && isUnit ? { bare: bare.slice(0, open).trimEnd(), unit } : { bare, unit: undefined };
}

/** The first sensor that a column of some name, and of some name without its unit, is for. */
type KnownFor = (name: string, bare: string) => KnownSensor | undefined;

function sensorsByName(sensors: readonly KnownSensor[]): KnownFor {
  const [byId, byName, bySmallId] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
  for (const [place, { id, name = '' }] of sensors.entries()) {
    for (const [map, key] of [[byId, id], [byName, name], [bySmallId, id.toLowerCase()]] as const) {
      if (!map.has(key)) map.set(key, place);
    } // biome-ignore format: a table
  }
  const first = (map: ReadonlyMap<string, number>, keys: readonly string[]) => {
    const place = Math.min(...keys.map((key) => map.get(key) ?? sensors.length));
    return sensors[place];
  };
  return (name, bare) =>
    first(byId, [name, bare]) ?? first(byName, [name, bare]) ?? first(bySmallId, [bare.toLowerCase()]);
}

/** The sensor whose id or name the column has, or else an id made of its name. */
function sensorFor(
  name: string,
  bare: string,
  options: { readonly place: number; readonly knownFor: KnownFor; readonly taken: Set<string> },
): string {
  const known = options.knownFor(name.trim(), bare);
  if (known !== undefined) return known.id;
  const plain = bare.replaceAll('ß', 'ss').normalize('NFKD').replace(/\p{M}/gu, '');
  const id = [...plain].map((char) => (isId(`x${char}`) ? char : '_')).join('').replace(/_+/g, '_').replace(/^_|_$/g, '').slice(0, 200); // biome-ignore format: one line
  const base = isId(id) ? id : `column-${options.place}`;
  return options.taken.has(base) ? `${base}-${options.place}` : base;
}
