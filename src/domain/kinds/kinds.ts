// Vocabularies for describing sensors and actuators: kinds, quantities, units. They are suggestions for people; a
// sensor may have any text.
import { actuatorKindLines, sensorKindLines } from './device-kinds.ts';
import qudt from './qudt.json' with { type: 'json' };

export interface Kind {
  readonly id: string;
  readonly label: string;
  /** The symbol of a unit. */
  readonly symbol?: string;
  /** Ids of the quantity kinds of a unit or of a kind of sensor. */
  readonly quantityKinds?: readonly string[];
  /** Ids of the broader quantity kinds of a quantity kind, whose units it shares. */
  readonly broader?: readonly string[];
  /** The type that values of this kind of actuator usually have. */
  readonly valueType?: string;
  /** The IRI of the entry in its vocabulary. */
  readonly iri?: string;
}

const vocabularies = ['sensor_kinds', 'quantity_kinds', 'units', 'actuator_kinds'] as const;
export type Vocabulary = (typeof vocabularies)[number];

export interface KindQuery {
  /** Searched in label, id and symbol, regardless of case. */
  readonly text?: string | undefined;
  readonly quantityKind?: string | undefined;
}

/** The matching entries, in order of their ids. */
export function listKinds(vocabulary: Vocabulary, { text, quantityKind }: KindQuery): readonly Kind[] {
  const all = kindsOf(vocabulary);
  if (text === undefined && quantityKind === undefined) return all;
  const part = text?.toLowerCase() ?? '';
  const wanted = quantityKind === undefined ? undefined : withBroader(quantityKind);
  return all.filter(
    ({ id, label, symbol = '', quantityKinds }) =>
      [id, label, symbol].some((word) => word.toLowerCase().includes(part)) &&
      (wanted === undefined || quantityKinds?.some((kind) => wanted.has(kind)) === true),
  );
}

/** The quantity kind and all broader ones. Atmospheric pressure, for example, is measured in units of pressure. */
function withBroader(quantityKind: string): ReadonlySet<string> {
  quantityKindsById ??= new Map(kindsOf('quantity_kinds').map((kind) => [kind.id, kind]));
  const found = new Set([quantityKind]);
  for (const id of found) for (const broader of quantityKindsById.get(id)?.broader ?? []) found.add(broader);
  return found;
}

let quantityKindsById: ReadonlyMap<string, Kind> | undefined;

/** Ids of the units in which these quantity kinds are measured, those of broader kinds among them. */
export function unitsOf(quantityKinds: readonly string[]): readonly string[] {
  unitsByKind ??= gatherUnits();
  const found = new Set<string>();
  for (const quantityKind of quantityKinds) {
    for (const kind of withBroader(quantityKind)) for (const unit of unitsByKind.get(kind) ?? []) found.add(unit);
  }
  return [...found];
}

let unitsByKind: ReadonlyMap<string, readonly string[]> | undefined;

function gatherUnits(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { id, quantityKinds = [] } of kindsOf('units')) {
    for (const kind of quantityKinds) found.set(kind, [...(found.get(kind) ?? []), id]);
  }
  return found;
}

const read = new Map<Vocabulary, readonly Kind[]>();

/** Parses a table when it is first needed. */
function kindsOf(vocabulary: Vocabulary): readonly Kind[] {
  const known = read.get(vocabulary);
  if (known !== undefined) return known;
  const { lines, toKind } = tables[vocabulary];
  const kinds = lines.map((line) => toKind(line.split('\t')));
  read.set(vocabulary, kinds);
  return kinds;
}

interface KindTable {
  readonly lines: readonly string[];
  toKind(fields: readonly string[]): Kind;
}

const tables: Readonly<Record<Vocabulary, KindTable>> = {
  sensor_kinds: {
    lines: sensorKindLines,
    toKind: ([id = '', label = '', kinds = '']) => ({ id, label, quantityKinds: words(kinds) }),
  },
  quantity_kinds: {
    lines: qudt.quantity_kinds,
    toKind: ([id = '', label = '', broader = '']) => ({
      ...{ id, label, broader: words(broader) },
      iri: `http://qudt.org/vocab/quantitykind/${id}`,
    }),
  },
  units: {
    lines: qudt.units,
    toKind: ([id = '', label = '', symbol = '', kinds = '']) => ({
      ...{ id, label, symbol, quantityKinds: words(kinds) },
      iri: `http://qudt.org/vocab/unit/${id}`,
    }),
  },
  actuator_kinds: {
    lines: actuatorKindLines,
    toKind: ([id = '', label = '', valueType = '']) => ({ id, label, valueType }),
  },
};

function words(text: string): readonly string[] {
  return text === '' ? [] : text.split(' ');
}
