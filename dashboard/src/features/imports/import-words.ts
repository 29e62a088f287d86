// What the server says of a file, in the language of the page: by the code of a sentence and what it names. What has a code
// that this page does not know is shown as the server says it.
import { ApiProblem } from '../../api/api-problem.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { isolated } from '../../strings/isolated.ts';

interface Said {
  readonly code?: string;
  readonly params?: Readonly<Record<string, string | number>>;
}

export function saidWords({ says }: Strings['imports'], { code, params = {} }: Said, otherwise: string): string {
  if (code === undefined || !Object.hasOwn(says, code)) return otherwise;
  const parts = Object.entries(params).map(([name, part]) => [name, part === '' ? part : isolated(part)]);
  return says[code as keyof typeof says](Object.fromEntries(parts));
}

/** Sentences with their codes beside them, in the same order. */
export function allSaid(imports: Strings['imports'], texts: readonly string[], codes: readonly Said[] = []): string[] {
  return texts.map((text, index) => saidWords(imports, codes[index] ?? {}, text));
}

/** A refused setting of the import, in the words of the page. */
export function refusedSetting(imports: Strings['imports'], error: unknown): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const names = error.faults.map(({ pointer }) => pointer.slice(1));
  const wrong = names.find((name) => Object.hasOwn(imports.wrong, name));
  return wrong === undefined ? undefined : imports.wrong[wrong as keyof typeof imports.wrong];
}
