// The skeleton of a name (Unicode Technical Standard 39), by which names that people may confuse are found. Called by
// username.ts for each new name, and by a migration for earlier ones.
import confusables from './confusables.json' with { type: 'json' };

/** About 1 MiB; created with the first name. */
let prototypes: ReadonlyMap<string, string> | undefined;

/**
 * The skeleton of a text (UTS 39, section 4): look-alike texts have the same one. Also ignores a second dot on a letter
 * that has one.
 */
export function skeletonOf(text: string): string {
  prototypes ??= parseConfusables();
  const shown = text.normalize('NFD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  let skeleton = '';
  for (const character of shown) skeleton += prototypes.get(character) ?? character;
  return skeleton.normalize('NFD').replace(/(\p{Soft_Dotted})\u0307+/gu, '$1');
}

function parseConfusables(): ReadonlyMap<string, string> {
  const known = new Map<string, string>();
  for (const entry of confusables.characters.split(',')) {
    const [from = '', to = ''] = entry.split(' ');
    known.set(textOf(from), textOf(to));
  }
  return known;
}

function textOf(codePoints: string): string {
  return String.fromCodePoint(...codePoints.split('.').map((hex) => Number.parseInt(hex, 16)));
}
