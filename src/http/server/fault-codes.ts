// What is wrong with a field as a code and what its sentence names, beside the sentence: for clients that speak to people in
// another language (decision 51). Sentences of faults have few forms, wherever they are thrown; this is the list of them, and a test
// holds the source against it.
import type { Said } from '../../base/refusal.ts';

type Params = NonNullable<Said['params']>;

interface Form {
  readonly code: string;
  readonly form: RegExp;
  readonly params?: (found: Readonly<Record<string, string>>) => Params;
}

const max = ({ max: most = '' }: Readonly<Record<string, string>>) => ({ max: Number(most) });
const min = ({ min: least = '' }: Readonly<Record<string, string>>) => ({ min: Number(least) });
const between = (found: Readonly<Record<string, string>>) => ({ ...min(found), ...max(found) });

/** The first that fits counts. */
const forms: readonly Form[] = [
  { code: 'password-needed', form: /^is missing: send your present password/ },
  { code: 'missing', form: /^(is missing|needs? an? )/ },
  { code: 'empty', form: /^(must not be empty|must say when|must NOT have fewer than 1 (characters|items))/ },
  { code: 'id', form: /^must be an id: / },
  { code: 'bytes', form: /^must have at most (?<max>\d+) bytes/, params: max },
  { code: 'long', form: /^must have at most (?<max>\d+) characters/, params: max },
  { code: 'long', form: /^has \d+ characters; an expression has at most (?<max>\d+)/, params: max },
  { code: 'short', form: /^must (have at least|NOT have fewer than) (?<min>\d+) characters/, params: min },
  { code: 'username', form: /^must have 1 to (?<max>\d+) characters, none of/, params: max },
  { code: 'length', form: /^must have (?<min>\d+) to (?<max>\d+) characters/, params: between },
  { code: 'many', form: /^must (have at most|NOT have more than) (?<max>\d+) (entries|items|properties)/, params: max },
  { code: 'many', form: /^must be an array of at most (?<max>\d+) ids/, params: max },
  { code: 'few', form: /^must NOT have fewer than (?<min>\d+) (items|properties)/, params: min },
  { code: 'whole', form: /^must be (a )?whole (number|seconds)s? from (?<min>\d+) to (?<max>\d+)/, params: between },
  { code: 'most', form: /^must be (<=|at most) (?<max>-?[\d.e+]+)/, params: max },
  { code: 'least', form: /^must be (>=|at least) (?<min>-?[\d.e+]+)/, params: min },
  { code: 'above', form: /^must be > (?<min>-?[\d.e+]+)/, params: min },
  { code: 'below', form: /^must be < (?<max>-?[\d.e+]+)/, params: max },
  { code: 'choice', form: /^must be (one|some) of (?<choices>.{1,500})/s, params: ({ choices = '' }) => ({ choices }) },
  { code: 'timestamp', form: /^(must be a timestamp|is no timestamp|must be a string such as "\d)/ },
  { code: 'future', form: /^must (lie|be) in the future/ },
  { code: 'order', form: /^must (not )?be (before|after|later|earlier)/ },
  { code: 'zone', form: /^must be a time zone/ },
  { code: 'phone', form: /^must be a phone number/ },
  { code: 'telegram', form: /^must be the number of a chat/ },
  { code: 'web-address', form: /^must be an http or https address/ },
  { code: 'control', form: /^must not hold (control characters|characters that do not show)/ },
  { code: 'script', form: /^must keep to one script/ },
  { code: 'common-password', form: /^is one of the most common passwords/ },
  { code: 'not-present-password', form: /^is not the present password/ },
  { code: 'fixed', form: /^(stays |cannot be (taken away|changed)|is changed at )/ },
  { code: 'twice', form: /(occurs|stands there|is named) twice/ },
  {
    code: 'expression',
    form: /^cannot be read at column (?<column>\d+)/,
    params: ({ column }) => ({ column: Number(column) }),
  },
  { code: 'equal-points', form: /^must differ from that of value_min/ },
  { code: 'steep', form: /^is too steep/ },
  { code: 'whole-number', form: /^must be (an )?integer/ },
  { code: 'number', form: /^must be (a )?number/ },
  { code: 'boolean', form: /^must be (a )?(boolean|true or false)/ },
  { code: 'text', form: /^must be (a )?(string|text)/ },
  { code: 'list', form: /^must be an? (JSON )?array/ },
  { code: 'object', form: /^must be (an )?object/ },
  { code: 'together', form: /(cannot be used together|exclude each other|goes with|belongs to)/ },
];

/** What has no form of its own. */
export const otherFault = 'wrong';

export function codeOfFault(detail: string): Said {
  const fits = forms.find(({ form }) => form.test(detail));
  if (fits === undefined) return { code: otherFault };
  const params = fits.params?.(fits.form.exec(detail)?.groups ?? {});
  return params === undefined ? { code: fits.code } : { code: fits.code, params };
}
