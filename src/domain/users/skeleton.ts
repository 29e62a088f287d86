// What a name looks like: the skeleton of Unicode Technical Standard 39, by which names that people take for one another
// are found. Called by username.ts for each new name, and by the migration for names that were there before.
import { confusablesText } from './confusables.generated.ts';

/** Some 1 MiB; made when the first name is looked at. */
let prototypes: ReadonlyMap<string, string> | undefined;

/**
 * The skeleton of a text (UTS 39, section 4): two texts that look alike have the same one. A dot on a letter that has one
 * already makes no difference either.
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
  for (const entry of confusablesText.split(',')) {
    const [from = '', to = ''] = entry.split(' ');
    known.set(textOf(from), textOf(to));
  }
  return known;
}

function textOf(codePoints: string): string {
  return String.fromCodePoint(...codePoints.split('.').map((hex) => Number.parseInt(hex, 16)));
}
