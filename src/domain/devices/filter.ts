// Parses the `q` filter of lists (contract 1): `field==value;other.field>5`. The store evaluates it.

import { Refusal } from '../../base/refusal.ts';
import { splitAtCommas } from '../../base/text/comma-list.ts';
import { isStorableText } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';

export type FilterOperator = '==' | '!=' | '>' | '<' | '>=' | '<=';

export interface Condition {
  /** The field's name; nested fields have one element for each level. */
  readonly path: readonly string[];
  readonly operator: FilterOperator;
  /** Any of these values may match; for `!=` none of them may. */
  readonly values: readonly string[];
}

/** Conditions that must all hold; an empty list matches everything. */
export type Filter = readonly Condition[];

const CONDITION = /^([A-Za-z_][\w.-]*)(==|!=|>=|<=|>|<)(.*)$/s;

/**
 * Parses the text of a `q` parameter.
 * @throws Refusal `malformed` for an unknown operator, an empty field, or too many conditions.
 */
export function parseFilter(q: string | undefined): Filter {
  if (q === undefined || q.trim() === '') return [];
  if (q.length > limits.filterCharsMax)
    refuse(`A filter may have ${limits.filterCharsMax} characters, not ${q.length}.`);
  // Some deployed clients encode the operator twice, so `%3D%3D` arrives as text.
  const text = q.replaceAll(/%3D/gi, '=').replaceAll(/%3E/gi, '>').replaceAll(/%3C/gi, '<');
  const parts = text.split(';').filter((part) => part.trim() !== '');
  if (parts.length > limits.filterConditionsMax) {
    refuse(`A filter may have ${limits.filterConditionsMax} conditions, not ${parts.length}.`);
  }
  return parts.map(parseCondition);
}

function parseCondition(part: string): Condition {
  const match = CONDITION.exec(part.trim());
  const [, field = '', operator = '', value = ''] = match ?? [];
  if (match === null || /^[=!<>]/.test(value)) {
    refuse(
      `Cannot read the filter ${JSON.stringify(part)}. Write <field><operator><value> with one of == != > < >= <=.`,
    );
  }
  if (!isStorableText(value)) refuse('A filter value must be clean text.');
  const path = field.split('.');
  if (path.some((step) => step === '')) refuse(`The field ${JSON.stringify(field)} of the filter has an empty step.`);
  return { path, operator: operator as FilterOperator, values: splitAtCommas(value) };
}

function refuse(message: string): never {
  throw new Refusal('malformed', message, { faults: [{ pointer: '/q', detail: message }] });
}
