// What the service said of a field or of a request, in the language of the page (decision 51). English has the sentences of the
// service; the others have words for its codes, and say of an unknown code that something is wrong, never a sentence in English.
import { type ApiProblem, type FieldFault, ofKind, type QuotaBreach } from '../api/api-problem.ts';
import type { Strings } from '../strings/catalogue.ts';

type Words = string | ((params: never) => string);

export function faultWords({ detail, code, params }: FieldFault, { faults }: Pick<Strings, 'faults'>): string {
  // Where the page itself found the fault, it said so in its own words.
  if (faults.speaksAsService || code === undefined) return detail;
  if (code.startsWith(ofKind)) return kindWords(code.slice(ofKind.length), undefined, faults);
  const known = faults.fields as Readonly<Record<string, Words>>;
  return say((Object.hasOwn(known, code) ? known[code] : undefined) ?? faults.fields.wrong, params);
}

/** What is said of a problem as a whole. */
export function refusalWords(problem: ApiProblem, strings: Pick<Strings, 'faults' | 'shared'>): string {
  const { faults, shared } = strings;
  // What no service said is in the words of the page.
  if (faults.speaksAsService || problem.status === 0) return problem.message || shared.problem;
  const [fault] = problem.faults;
  // A fault of a field that the form does not have.
  if (problem.code === 'malformed' && fault !== undefined) return `${fault.pointer}: ${faultWords(fault, strings)}`;
  return kindWords(problem.code, problem.quota, faults);
}

function kindWords(code: string, quota: QuotaBreach | undefined, { kinds }: Strings['faults']): string {
  const known = kinds as Readonly<Record<string, Words>>;
  const isKnown = Object.hasOwn(known, code) && (code !== 'quota' || quota !== undefined);
  return say((isKnown ? known[code] : undefined) ?? kinds.other, quota);
}

function say(words: Words, params: unknown): string {
  return typeof words === 'string' ? words : words((params ?? {}) as never);
}
