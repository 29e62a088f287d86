// Names as people order them: 9 before 10, whatever the case.

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

export function inNaturalOrder<T>(records: readonly T[], nameOf: (record: T) => string): T[] {
  return records.toSorted((one, other) => collator.compare(nameOf(one), nameOf(other)));
}
