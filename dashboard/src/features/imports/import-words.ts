// What the server says of a file, in the language of the page: by the code of a sentence and what it names. What has a code
// that this page does not know is shown as the server says it.
import { ApiProblem } from '../../api/api-problem.ts';
import { plainText } from '../../api/plain-text.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { isolated } from '../../strings/isolated.ts';
import type { PageLocale } from '../../strings/strings.ts';
import { timeFormatWords } from './time-format-words.ts';

type Words = Pick<PageLocale, 'strings' | 'tag'>;

interface Said {
  readonly code?: string;
  readonly params?: Readonly<Record<string, string | number>>;
}

export function saidWords({ strings, tag }: Words, { code, params = {} }: Said, otherwise: string): string {
  const { says } = strings.imports;
  if (code === undefined || !Object.hasOwn(says, code)) return otherwise;
  const parts = Object.entries(params).map(([name, part]) => [name, isolated(wordOf(name, part, tag))]);
  return says[code as keyof typeof says](Object.fromEntries(parts));
}

function wordOf(name: string, part: string | number, tag: string): string | number {
  if (typeof part === 'number') return part;
  return name === 'format' ? timeFormatWords(part, tag) : plainText(part);
}

/** Sentences with their codes beside them, in the same order. */
export function allSaid(words: Words, texts: readonly string[], codes: readonly Said[] = []): string[] {
  return texts.map((text, index) => saidWords(words, codes[index] ?? {}, text));
}

/** A refused setting of the import, in the words of the page. */
export function refusedSetting(imports: Strings['imports'], error: unknown): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const names = error.faults.map(({ pointer }) => pointer.slice(1));
  const wrong = names.find((name) => Object.hasOwn(imports.wrong, name));
  return wrong === undefined ? undefined : imports.wrong[wrong as keyof typeof imports.wrong];
}
