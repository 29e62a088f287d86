// A count with its noun, for the catalogues: `counted(3, 'sensor', 'sensors')`, and for languages with more forms than two
// `countedBy('ar', …)`.

const english = new Intl.NumberFormat('en');
const french = new Intl.NumberFormat('fr');

export function counted(count: number, one: string, many: string): string {
  return `${english.format(count)} ${count === 1 ? one : many}`;
}

/** French counts nought and one alike. */
export function countedInFrench(count: number, one: string, many: string): string {
  return `${french.format(count)} ${Math.abs(count) < 2 ? one : many}`;
}

/** The forms of a noun by the rules of Unicode for its language; `#` stands for the number, where the form has one. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

type Counting = (count: number, forms: Forms) => string;

function countedBy(tag: string): Counting {
  const rules = new Intl.PluralRules(tag);
  const format = new Intl.NumberFormat(tag);
  return (count, forms) => (forms[rules.select(count)] ?? forms.other).replace('#', format.format(count));
}

/** Words that stand beside a number, in the form that goes with it; without the number. */
type Wording = (count: number, forms: Forms) => string;

function wordedBy(tag: string): Wording {
  const rules = new Intl.PluralRules(tag);
  return (count, forms) => forms[rules.select(count)] ?? forms.other;
}

export const worded = wordedBy('en');
export const wordedInFrench = wordedBy('fr');
export const wordedInSpanish = wordedBy('es-ES');
export const wordedInPortuguese = wordedBy('pt-PT');
export const wordedInSwahili = wordedBy('sw-KE');
export const wordedInArabic = wordedBy('ar');

const [spanish, portuguese, swahili] = ['es-ES', 'pt-PT', 'sw-KE'].map(countedBy) as [Counting, Counting, Counting];

export function countedInSpanish(count: number, one: string, many: string): string {
  return spanish(count, { one: `# ${one}`, other: `# ${many}` });
}

export function countedInPortuguese(count: number, one: string, many: string): string {
  return portuguese(count, { one: `# ${one}`, other: `# ${many}` });
}

/** In Swahili the number follows its noun. */
export function countedInSwahili(count: number, one: string, many: string): string {
  return swahili(count, { one: `${one} #`, other: `${many} #` });
}

/** Arabic has six forms; one and two are said by the noun alone. */
export const countedInArabic = countedBy('ar-u-nu-latn');
