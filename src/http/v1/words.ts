// The dictionary of versions 1 and 1.1 (spec 9.4, contract 9): a device of version 2 is called a sensor there, a sensor
// a measurement, an action a notification. All translation in this folder uses it. Some words occur on both sides
// ("sensor" has another meaning in each), so each text is translated in one pass.
import { limits } from '../../config/limits.ts';

type Record = { readonly [key: string]: unknown };

/** Names of fields and path segments: version 2's to version 1's. */
const olderNames: ReadonlyMap<string, string> = new Map([
  ['devices', 'sensors'],
  ['device_id', 'sensor_id'],
  ['sensors', 'measurements'],
  ['sensor_id', 'measurement_id'],
  ['action', 'notification'],
]);
const newerNames: ReadonlyMap<string, string> = new Map([...olderNames].map(([newer, older]) => [older, newer]));

/** Fields that are unknown in requests of version 1: new in version 2 (spec 9.4), or known by another name only. */
const newInVersion2 = new Set([
  'actuators',
  'retention_days',
  ...[...olderNames.keys()].filter((name) => !newerNames.has(name)),
]);
/** Field names that only version 1 has. */
const goneInVersion2 = new Set([...newerNames.keys()].filter((name) => !olderNames.has(name)));

/** Fields of version 2 that answers of version 1 leave out; `sensor_kind` is a second name for `sensing_device`. */
const unknownInVersion1 = new Set(['actuators', 'retention_days', 'sensor_kind', ...goneInVersion2]);

/** Whether a field of version 2 exists in version 1. */
export function isOlderField(name: string): boolean {
  return !unknownInVersion1.has(name);
}

export function olderName(name: string): string {
  return olderNames.get(name) ?? name;
}

/** Renames the fields of a version 2 record; drops those new in version 2. */
export function toOlderFields(record: Record): { [key: string]: unknown } {
  const fields = Object.entries(record).filter(([name]) => isOlderField(name));
  return Object.fromEntries(fields.map(([name, value]) => [olderName(name), value]));
}

/** Renames the fields of a version 1 record; drops those that only version 2 knows. */
export function toNewerFields(record: Record): { [key: string]: unknown } {
  const fields = Object.entries(record).filter(([name]) => !newInVersion2.has(name));
  return Object.fromEntries(fields.map(([name, value]) => [newerNames.get(name) ?? name, value]));
}

/** `/devices/{}/sensors/{}` to `/sensors/{}/measurements/{}`: the path segments between ids. */
export function toOlderPath(path: string): string {
  const isId = (step: number) => step % 2 === 0;
  return path
    .split('/')
    .map((name, step) => (isId(step) ? name : olderName(name)))
    .join('/');
}

/** The field of a readable condition; its operator may be encoded twice. */
const filterField =
  /^\s*[A-Za-z_][\w-]*(?:\.[\w-]+)*(?=(?:(?:=|%3D){2}|!(?:=|%3D)|(?:[<>]|%3[CE])(?:=|%3D)?)(?![=!<>]|%3[CDE]))/i;

/**
 * Renames the fields of a filter (`q`) to those of version 2: in the first segment, or with `isDeep` in all. A field
 * that only version 2 knows becomes an unknown one. An unreadable filter stays as it is, because the refusal quotes it.
 */
export function toNewerFilter(q: string, options: { readonly isDeep: boolean }): string {
  const newer = (name: string) => (newInVersion2.has(name) ? `_${name}` : (newerNames.get(name) ?? name));
  return q
    .split(';')
    .map((part) =>
      part.replace(filterField, (field) =>
        field
          .trim()
          .split('.')
          .map((name, step) => (step === 0 || options.isDeep ? newer(name) : name))
          .join('.'),
      ),
    )
    .join(';');
}

/** `devices:view` to `sensors:view`. */
export function toOlderScope(scope: string): string {
  return scope.replace(/^device/, 'sensor');
}

/**
 * Parts of prose that a caller wrote: JSON strings, the word after one that announces a name, lists of owned things. An
 * unclosed quote extends to the end of the text, because searching on from each would take quadratic time.
 */
const asSent =
  /("(?:[^"\\]|\\.?)*(?:"|$)|(?<=\b(?:id|user|name|go to) )\S+|^\S+(?= owns | is the last )|(?<= for )\S+(?=, which creating)|(?<=\(\d+\): |gateways: )\S+(?:(?<=,) \S+)*)/;
const wholeWord =
  /(?<!\b(?:devices?|sensors?|physical) )(?<![\w\-.:/{]|condition\.(?=\w*\.))(devices?|sensors?)(?=(?:-data)?:[a-z]|[^\w\-.:/=]|[.:](?:\s|$)|$)/gi;
/** Phrases about sensors and actuators that become phrases about sensors. */
const besideActuators: readonly (readonly [RegExp, string])[] = [
  [/, their last values, and its actuators\b/g, ' and their last values'],
  [/, actuators and\b/g, ' and'],
  [/(?<=\bsensors) and actuators\b/g, ''],
];
const pointer = /(?<=^|[\s`])\/(?!api\/)[\w/~{}.-]*\w/g;
const olderWords: ReadonlyMap<string, string> = new Map([
  ['device', 'sensor'],
  ['devices', 'sensors'],
  ['sensor', 'measurement'],
  ['sensors', 'measurements'],
]);

/** The field of a filter that a refusal quotes: it has been through `toNewerFilter`. */
const refusedField = /(?<=There is no field |must name a field to filter by, not )"[\w.-]+"/g;

/** The field as the caller wrote it. */
function toSentFilterField(quoted: string): string {
  const [first = '', ...deeper] = quoted.slice(1, -1).split('.');
  const sent = (name: string) =>
    name.startsWith('_') && newInVersion2.has(name.slice(1)) ? name.slice(1) : olderName(name);
  return JSON.stringify([sent(first), ...deeper].join('.'));
}

/**
 * Translates a message to people: whole words, and fields in JSON pointers. The word after such a word is an id and
 * stays, even if it is one of them: "no sensor device" is about a sensor with the id `device`.
 */
export function toOlderProse(text: string): string {
  // A longer text quotes the caller, and translating it might take quadratic time.
  if (text.length > limits.olderProseCharsMax) return text;
  const named = text.replaceAll(refusedField, toSentFilterField);
  const pieces = besideActuators.reduce((prose, [words, fewer]) => prose.replaceAll(words, fewer), named).split(asSent);
  return pieces.map((piece, index) => (index % 2 === 0 ? toOlderWords(piece) : piece)).join('');
}

function toOlderWords(prose: string): string {
  return prose
    .replaceAll(wholeWord, (word: string) => {
      const older = olderWords.get(word.toLowerCase()) ?? word;
      return /^[A-Z]/.test(word) ? older.charAt(0).toUpperCase() + older.slice(1) : older;
    })
    .replaceAll(/(?<=\bcondition\.)(devices|sensors)\b|(?<=`)action(?=`)/g, olderName)
    .replaceAll(pointer, (steps) =>
      steps
        .split('/')
        .map((name) => olderWords.get(name) ?? olderName(name))
        .join('/'),
    );
}
