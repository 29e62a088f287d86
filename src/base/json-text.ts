// JSON text from outside into a value the service is willing to keep, for HTTP and MQTT alike.
import { isUtf8 } from 'node:buffer';
import sjson from 'secure-json-parse';
import { assertKeepable, type Json } from './json.ts';
import { Refusal } from './refusal.ts';

/** Shorter texts cannot nest deeper than any bound we use. */
const nestingPossibleFrom = 64;
/**
 * Only an escape can smuggle a NUL or half a surrogate pair into UTF-8 JSON. Only an exponent of three digits reaches
 * infinity, or so many digits that one of two does.
 */
const suspicious = /\\u|[\d.][eE]\+?\d{3}|\d{200}/;

/**
 * Parses JSON bytes.
 * @throws Refusal `malformed` for anything that is no JSON in UTF-8, is nested deeper than `levelsMax`, holds a number
 * beyond the range of doubles, a NUL, half a surrogate pair, or a key such as `__proto__`.
 */
export function parseJsonText(bytes: Buffer, levelsMax: number): Json {
  if (!isUtf8(bytes)) throw new Refusal('malformed', 'The text is not UTF-8.');
  const text = bytes.toString('utf8');
  if (text.length >= nestingPossibleFrom) assertNesting(text, levelsMax);
  const value = parse(text);
  if (suspicious.test(text)) assertKeepable(value, { pointer: '', depthMax: levelsMax });
  return value;
}

function parse(text: string): Json {
  try {
    return sjson.parse(text, { protoAction: 'error', constructorAction: 'error' }) as Json;
  } catch (error) {
    throw new Refusal('malformed', reasonOf(error as Error), { cause: error });
  }
}

/** Without a word of the text itself, which may be private where the reason is read. */
function reasonOf({ message }: Error): string {
  if (message.includes('forbidden prototype property')) {
    return 'The names __proto__ and constructor.prototype are not taken as keys.';
  }
  const position = /position (\d+)/.exec(message)?.[1];
  return position === undefined
    ? 'The text is not valid JSON.'
    : `The text is not valid JSON (at position ${position}).`;
}

/** Counts brackets outside of strings, so that depth is refused before anything walks it. */
function assertNesting(text: string, levelsMax: number): void {
  let level = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      level += 1;
      if (level > levelsMax) throw new Refusal('malformed', `The JSON is nested deeper than ${levelsMax} levels.`);
    } else if (code === 0x7d || code === 0x5d) level -= 1;
  }
}
