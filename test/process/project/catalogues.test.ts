// The catalogues of the dashboard are whole: each language says all that English says, names the same things, counts by its
// own rules, and leaves no sentence in English. What lacks is listed, so that it can be filled in at once.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { catalogueOf } from '../../support/catalogue.ts';

type Said = string | ((...parts: unknown[]) => string);

async function textsOf(language: string): Promise<ReadonlyMap<string, Said>> {
  return new Map(leaves(await catalogueOf(language), ''));
}

function leaves(node: unknown, place: string): (readonly [string, Said])[] {
  if (typeof node === 'string' || typeof node === 'function') return [[place, node as Said]];
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, below]) => leaves(below, place === '' ? name : `${place}.${name}`));
}

/** As many categories of numbers as nouns must tell apart at least. Those of Swahili are often the same for all. */
const formsMin: Readonly<Record<string, number>> = { fr: 2, es: 2, pt: 2, sw: 1, ar: 4 };
const counts = [0, 1, 2, 3, 11, 100];
/** Whose noun is the same for every number. */
const invariable: ReadonlySet<string> = new Set(['fr notifications.firings', 'fr now.times']);

/** What a sentence is called with: numbers that no text has by itself, alone or under the names that it asks for. */
function probes(first = 211): readonly unknown[][] {
  const numbers = [first, 223, 227, 229];
  const named = new Proxy({}, { get: (_, name) => (name === Symbol.toPrimitive ? undefined : numberOf(String(name))) });
  return [numbers, [named, ...numbers.slice(1)]];
}

function numberOf(name: string): number {
  return 300 + ([...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 600, 7) % 600);
}

function say(words: (...parts: unknown[]) => string, parts: readonly unknown[]): string | undefined {
  try {
    const text = words(...parts);
    return /undefined|NaN|\[object/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** With the numbers alone if that makes sense, else with names. */
function argumentsFor(words: (...parts: unknown[]) => string): readonly unknown[] | undefined {
  return probes().find((parts) => say(words, parts) !== undefined);
}

const numbersIn = (text: string) => new Set(text.match(/\d{3,}/g) ?? []);
const bare = (text: string) => text.replace(/[\d\s.,\u00a0\u202f]/g, '');

suite('the catalogue', async () => {
  const english = await textsOf('en');
  for (const language of Object.keys(formsMin)) {
    const other = await textsOf(language);

    test(`${language} has every text that English has, and no other`, () => {
      const missing = [...english.keys()].filter((place) => !other.has(place));
      const surplus = [...other.keys()].filter((place) => !english.has(place));
      const listed = [
        ...missing.map((place) => `missing: ${place}`),
        ...surplus.map((place) => `not in English: ${place}`),
      ];
      assert.deepEqual(listed, [], `dashboard/src/strings/${language}:\n${listed.join('\n')}`);
    });

    test(`${language} names in each text what English names there`, () => {
      const different: string[] = [];
      for (const [place, words] of english) {
        const others = other.get(place);
        if (others === undefined) continue;
        if (typeof words === 'string' && typeof others === 'string') {
          if (words.trim() !== '' && others.trim() === '') different.push(`${place}: empty`);
          continue;
        }
        if (typeof words === 'string' || typeof others === 'string') {
          different.push(`${place}: one is a text, the other is made of parts`);
          continue;
        }
        const parts = argumentsFor(words);
        const [one, two] = parts === undefined ? [] : [say(words, parts), say(others, parts)];
        if (one === undefined || two === undefined) different.push(`${place}: cannot be said`);
        else if (numbersIn(one).symmetricDifference(numbersIn(two)).size > 0)
          different.push(`${place}: ${one} / ${two}`);
      }
      assert.deepEqual(different, []);
    });

    test(`${language} counts by its own rules`, () => {
      const wrong: string[] = [];
      for (const [place, words] of english) {
        const others = other.get(place);
        if (typeof words === 'string' || typeof others !== 'function') continue;
        const [, ...rest] = argumentsFor(words) ?? [];
        const said = (from: (...parts: unknown[]) => string) => counts.map((count) => say(from, [count, ...rest]));
        const forms = (from: (...parts: unknown[]) => string) => new Set(said(from).map((text) => bare(text ?? '')));
        // Counts in English: one is said otherwise than three.
        const [one, three] = [say(words, [1, ...rest]), say(words, [3, ...rest])];
        if (one === undefined || three === undefined || bare(one) === bare(three)) continue;
        if (invariable.has(`${language} ${place}`)) continue;
        if (said(others).includes(undefined) || forms(others).size < (formsMin[language] ?? 1))
          wrong.push(`${place}: ${said(others).join(' | ')}`);
      }
      assert.deepEqual(wrong, []);
    });

    test(`${language} leaves no sentence in English`, () => {
      const same = [...english].filter(
        ([place, text]) => typeof text === 'string' && /\w+ \w+ \w+/.test(text) && other.get(place) === text,
      );
      assert.deepEqual(
        same.map(([place]) => place),
        [],
      );
    });
  }
});
