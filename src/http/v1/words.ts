// The word map of versions 1 and 1.1 (spec 9.4, contract 9): what version 2 calls a device is a sensor there, what it
// calls a sensor a measurement, an action a notification. Everything in this folder translates by these words.
// A word may stand on both sides (a sensor is another thing in each), so each text is translated in one pass.
import { limits } from '../../config/limits.ts';

type Record = { readonly [key: string]: unknown };

/** Names of fields and steps of paths: version 2's to version 1's. */
const olderNames: ReadonlyMap<string, string> = new Map([
  ['devices', 'sensors'],
  ['device_id', 'sensor_id'],
  ['sensors', 'measurements'],
  ['sensor_id', 'measurement_id'],
  ['action', 'notification'],
]);
const newerNames: ReadonlyMap<string, string> = new Map([...olderNames].map(([newer, older]) => [older, newer]));

/** What only version 2 has; actuators are new in it (spec 9.4), and only it has another name for `sensing_device`. */
const newInVersion2 = new Set([
  'actuators',
  'retention_days',
  ...[...olderNames.keys()].filter((name) => !newerNames.has(name)),
]);
const goneInVersion2 = new Set([...newerNames.keys()].filter((name) => !olderNames.has(name)));

const unknownInVersion1 = new Set(['actuators', 'retention_days', 'sensor_kind', ...goneInVersion2]);

/** Whether version 1 has a field for this one of version 2. */
export function isOlderField(name: string): boolean {
  return !unknownInVersion1.has(name);
}

export function olderName(name: string): string {
  return olderNames.get(name) ?? name;
}

/** The fields of a record of version 2 under their older names; what is new in version 2 is left out. */
export function toOlderFields(record: Record): { [key: string]: unknown } {
  const fields = Object.entries(record).filter(([name]) => isOlderField(name));
  return Object.fromEntries(fields.map(([name, value]) => [olderName(name), value]));
}

/** The fields of a record of version 1 as version 2 calls them; one that only version 2 knows is none here. */
export function toNewerFields(record: Record): { [key: string]: unknown } {
  const fields = Object.entries(record).filter(([name]) => !newInVersion2.has(name));
  return Object.fromEntries(fields.map(([name, value]) => [newerNames.get(name) ?? name, value]));
}

/** `/devices/{}/sensors/{}` to `/sensors/{}/measurements/{}`: the steps of a path between the ids. */
export function toOlderPath(path: string): string {
  const isId = (step: number) => step % 2 === 0;
  return path
    .split('/')
    .map((name, step) => (isId(step) ? name : olderName(name)))
    .join('/');
}

/** The field of a condition that can be read; an operator may have come encoded twice. */
const filterField =
  /^\s*[A-Za-z_][\w-]*(?:\.[\w-]+)*(?=(?:(?:=|%3D){2}|!(?:=|%3D)|(?:[<>]|%3[CE])(?:=|%3D)?)(?![=!<>]|%3[CDE]))/i;

/**
 * The fields of a filter (`q`) as version 2 calls them, in its first step or, with `isDeep`, in all; one that only
 * version 2 knows becomes one that nobody knows. What cannot be read stays as it is, because its refusal repeats it.
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
 * What a caller wrote and prose repeats: in quotes as JSON, after a word that announces a name, in a list of what one
 * owns. A quote that does not end is one up to the end of the text: to look on from each would take a square of time.
 */
const asSent =
  /("(?:[^"\\]|\\.?)*(?:"|$)|(?<=\b(?:id|user|name|go to) )\S+|^\S+(?= owns | is the last )|(?<= for )\S+(?=, which creating)|(?<=\(\d+\): |gateways: )\S+(?:(?<=,) \S+)*)/;
const wholeWord =
  /(?<!\b(?:devices?|sensors?|physical) )(?<![\w\-.:/{]|condition\.(?=\w*\.))(devices?|sensors?)(?=(?:-data)?:[a-z]|[^\w\-.:/=]|[.:](?:\s|$)|$)/gi;
/** What is said of actuators beside sensors is said of sensors alone. */
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

/**
 * What is said to people. Whole words change, and the fields that JSON pointers lead to. What follows such a word is
 * an id and stays as it is, were it one of them: "no sensor device" speaks of a sensor whose id is `device`.
 */
export function toOlderProse(text: string): string {
  // Longer ones repeat what a caller sent; to look for words in that may take a square of time.
  if (text.length > limits.olderProseCharsMax) return text;
  const pieces = besideActuators.reduce((prose, [words, fewer]) => prose.replaceAll(words, fewer), text).split(asSent);
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
