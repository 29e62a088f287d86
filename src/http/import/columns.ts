// The roles of an imported file's columns: as the caller says (`Temp=TC;2=timestamp`), or as their names suggest. For
// JSON the keys are the columns. Called by import-plan.ts and line-reader.ts.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { beyondIds, isId } from '../schemas/ids.ts';

/** The roles of columns, other than values of a sensor. */
const roleWords = ['timestamp', 'date', 'time', 'device', 'sensor', 'value', 'received', 'unit', 'ignore'] as const;
export type RoleWord = (typeof roleWords)[number];

/** A column with values of one sensor; without `device`, of the request's or the line's device. */
export interface SensorRole {
  readonly device: string | undefined;
  readonly sensor: string;
}
export type Role = RoleWord | SensorRole;

export interface Column {
  /** From 1. */
  readonly number: number;
  /** From the header line, or the key; undefined where there is none. */
  readonly name: string | undefined;
  readonly role: Role;
  /** The unit in its name, such as °C in `Temp (°C)`. */
  readonly unit: string | undefined;
}

/** The caller's roles, by name or number of the column. */
export type Mapping = ReadonlyMap<string, Role>;

/** A sensor of the lines' device, by which columns are recognised. */
export interface KnownSensor {
  readonly id: string;
  readonly name?: string;
}

/** @throws Refusal `malformed` */
export function parseMapping(text: string | undefined): Mapping {
  const mapping = new Map<string, Role>();
  for (const entry of text?.split(';') ?? []) {
    if (entry.trim() === '') continue;
    // An id contains no `=`, but a name may.
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

/** The role as a mapping writes it. */
export function roleText(role: Role): string {
  return typeof role === 'string' ? role : `${role.device ?? ''}/${role.sensor}`;
}

/** Names that reveal a column's role, in lower case without blanks; in several languages of loggers. */
const knownNames: Readonly<Record<Exclude<RoleWord, 'ignore'>, RegExp>> = {
  timestamp:
    /^(time_?stamp|date_?time|(ts|epoch|unix(_?time)?|horodat(age|eur)|zeitstempel|zeitpunkt|marca_de_tiempo|date_?and_?time|datum_?zeit|(date|datum|fecha|data)(\/|_|_(et|e|y|und|en)_)(time|heure|hora|ora|uhrzeit|zeit|tijd))$)/,
  date: /^(date|datum|fecha|data|jour|day)$/,
  time: /^(time|uhrzeit|zeit|heure|hora|ora|tijd)$/,
  device: /^(device|device_?id|deviceid|node|node_?id|station|station_?id)$/,
  sensor: /^(sensor|sensor_?id|sensorid|channel|parameter|variable|measurement)$/,
  value: /^(value|wert|messwert|valeur|valor|valore|reading)$/,
  received: /^(date_?received|received|received_?at)$/,
  unit: /^(unit|units|einheit|unité|unidad)$/,
};
/** Names of columns that number the lines. */
const counters = /^(|#|no\.?|nr\.?|n°|index|record|rec(nbr|_?no)?|id|line|row)$/;

/** The parts of a name. */
interface NameParts {
  readonly unit: string | undefined;
  readonly plain: string;
  readonly word: RoleWord | undefined;
  /** The id of the sensor that has this name, or else an id made of the name, where that is possible. */
  readonly knownId: string | undefined;
  readonly ownId: string | undefined;
}

/** Recognises columns, with a cache of analysed names: those of JSON are analysed again with every new key. */
export class ColumnGuesses {
  readonly mapping: Mapping;
  readonly #knownFor: KnownFor;
  readonly #parts = new Map<string, NameParts>();
  /** By column: its own id, and the id that it gets where another column has that one. */
  readonly #numbered: { readonly own: string; readonly id: string }[] = [];

  constructor(mapping: Mapping, knownSensors: readonly KnownSensor[]) {
    this.mapping = mapping;
    this.#knownFor = sensorsByName(knownSensors);
  }

  /**
   * A unique id for a column whose id is taken by another: `<own>-<number>`, counted from 1.
   * @param column index from 0.
   */
  numberedId(own: string, column: number): string {
    const known = this.#numbered[column];
    if (known?.own === own) return known.id;
    const id = `${own}-${column + 1}`;
    this.#numbered[column] = { own, id };
    return id;
  }

  /** Bounded by the number of columns that a file may have. */
  partsOf(name: string): NameParts {
    let parts = this.#parts.get(name);
    if (parts === undefined) {
      const { bare, unit } = splitUnit(name);
      const plain = plainName(bare);
      const knownId = this.#knownFor(name.trim(), bare)?.id;
      parts = { unit, plain, word: wordFor(plain), knownId, ownId: idMadeOf(bare) };
      this.#parts.set(name, parts);
    }
    return parts;
  }
}

/** The role of each column by its name; without a header, by the mapping alone. */
export function readColumns(names: readonly (string | undefined)[], guessing: ColumnGuesses): Column[] {
  const { mapping } = guessing;
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
    const { unit, knownId, ownId } = parts[n] as NameParts;
    const role = (): Role => {
      const word = words[n];
      if (name === undefined) return 'ignore';
      if (word === 'time' || word === 'date') {
        if (hasTimestamp) return 'ignore';
        // A date without a time column, or a time without a date column, is the whole timestamp.
        return hasDate && hasTime ? word : 'timestamp';
      }
      if (isLong) return word ?? 'ignore';
      if (word !== undefined && ['timestamp', 'device', 'received'].includes(word)) return word;
      if (isMapped || counters.test(plain[n] ?? '')) return 'ignore';
      const own = ownId ?? `column-${n + 1}`;
      const sensor = knownId ?? (taken.has(own) ? guessing.numberedId(own, n) : own);
      taken.add(sensor);
      return { device: undefined, sensor };
    };
    return { number: n + 1, name, role: mapped[n] ?? role(), unit };
  });
}

/** The mapping's role of each column: by its name or, where no column has that name, by its number. */
function mappedRoles(mapping: Mapping, names: readonly (string | undefined)[]): (Role | undefined)[] {
  const trimmed = names.map((name) => name?.trim());
  const all = new Set(trimmed);
  return trimmed.map((name, n) => {
    const byName = name === undefined ? undefined : mapping.get(name);
    const number = String(n + 1);
    return byName ?? (all.has(number) ? undefined : mapping.get(number));
  });
}

/** @throws Refusal `malformed` where the mapping names a missing column. */
export function assertMapped(mapping: Mapping, columns: readonly Column[]): void {
  const names = new Set(columns.flatMap(({ name, number }) => [String(number), name?.trim()]));
  for (const name of mapping.keys()) {
    if (names.has(name)) continue;
    const there = columns.map((column) => column.name ?? String(column.number)).slice(0, 20).join(', '); // biome-ignore format: one line
    const detail = `names ${JSON.stringify(name.slice(0, 60))}, which is no column; there are ${there.slice(0, 600)}`;
    throw new Refusal('malformed', `columns ${detail}.`, { faults: [{ pointer: '/columns', detail }] });
  }
}

/** Whether a column of this name has times, in whichever language of loggers. */
export function isNameOfTimes(name: string): boolean {
  const word = wordFor(plainName(splitUnit(name).bare));
  return word === 'timestamp' || word === 'date' || word === 'time';
}

const plainName = (bare: string) => bare.toLowerCase().replace(/\s+/g, '_');

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

/** The first sensor that matches a name, or the name without its unit. */
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

/** An id made of a name; its beginning is enough, because names of sensors are short. */
function idMadeOf(bare: string): string | undefined {
  const plain = bare.slice(0, limits.nameCharsMax).replaceAll('ß', 'ss').normalize('NFKD').replace(/\p{M}/gu, '');
  const id = plain.replace(beyondIds, '_').replace(/_+/g, '_').replace(/^_|_$/g, '').slice(0, 200);
  return isId(id) ? id : undefined;
}
