// The SQL function `natural_key(text)`: a text by which names are ordered as people count, 9 before 10. Every connection
// that lists devices has it; PostgreSQL says the same by regular expressions (sql-dialect.ts of its folder).
import type { DatabaseSync } from 'node:sqlite';
import { naturalDigits } from '../../shared/registry/sql-dialect.ts';

export function provideNaturalKey(database: DatabaseSync): void {
  database.function('natural_key', { deterministic: true }, (text) => naturalKey(String(text)));
}

/** Linear in the text: each digit is looked at a fixed number of times. */
function naturalKey(text: string): string {
  return text.replace(/[0-9]+/g, (number) => {
    const from = Math.max(0, Math.min(leadingZeros(number), number.length - 1));
    return number.slice(from).padStart(naturalDigits, '0');
  });
}

function leadingZeros(number: string): number {
  let count = 0;
  while (number.charCodeAt(count) === 48) count += 1;
  return count;
}
