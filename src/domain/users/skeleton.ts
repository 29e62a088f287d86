// Computes the skeleton of a name (Unicode Technical Standard 39), by which names that people may confuse are found.
// Called by username.ts for each new name, and by a migration for earlier ones.
import confusables from './confusables.json' with { type: 'json' };

/** Takes about 1 MiB; created with the first name. */
let prototypes: ReadonlyMap<string, string> | undefined;

/** Pairs of a letter and its small capital, which looks like a capital. UTS 39 does not list most of them. */
const smallCapitals = 'aᴀ bʙ cᴄ dᴅ eᴇ fꜰ gɢ hʜ iɪ jᴊ kᴋ lʟ mᴍ nɴ oᴏ pᴘ qꞯ rʀ sꜱ tᴛ uᴜ vᴠ wᴡ yʏ zᴢ';
/** The code points of A in filled circles, in filled squares, and as flags. NFKC leaves these letters as they are. */
const enclosedFrom = [0x1f150, 0x1f170, 0x1f1e6];

/**
 * The skeleton of a text (UTS 39, section 4): texts that look alike have the same one. In addition, it ignores a
 * second dot on a letter that has one, and treats small capitals and enclosed letters as plain letters.
 */
export function skeletonOf(text: string): string {
  prototypes ??= parseConfusables();
  const shown = text.normalize('NFD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  let skeleton = '';
  for (const character of shown) {
    const letter = styledLetters.get(character) ?? character;
    skeleton += prototypes.get(letter) ?? letter;
  }
  return skeleton.normalize('NFD').replace(/(\p{Soft_Dotted})\u0307+/gu, '$1');
}

const styledLetters: ReadonlyMap<string, string> = new Map([
  ...smallCapitals.split(' ').map(([letter = '', capital = '']): [string, string] => [capital, letter]),
  ...enclosedFrom.flatMap((first) =>
    Array.from({ length: 26 }, (_, n): [string, string] => [
      String.fromCodePoint(first + n),
      String.fromCodePoint(0x61 + n),
    ]),
  ),
]);

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
