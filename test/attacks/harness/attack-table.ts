// Writes the table of docs/security.md with the results that the attack tests measured.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../support/process.ts';
import type { Attack } from './attack.ts';
import type { AttackReport } from './attack-run.ts';
import type { ProbeKindReport } from './prober.ts';

export interface TableRow {
  readonly attack: Attack;
  readonly cells: readonly string[];
}

const file = join(root, 'docs/security.md');
const begins = '<!-- attacks: written by test/attacks/attacks.test.ts -->';
const ends = '<!-- /attacks -->';
const head = [
  'against',
  'who, and what',
  'health',
  'push',
  'MQTT',
  'heard',
  'sign-in',
  'bare server',
  'memory',
  'met by',
];

export function rowOf(attack: Attack, { probes, memoryBytesMax }: AttackReport): TableRow {
  const longest = (probe: ProbeKindReport) => String(Math.round(probe.longestMs));
  const bare = Math.max(probes['bare get'].longestMs, probes['bare write'].longestMs);
  return {
    attack,
    cells: [
      attack.against,
      `A ${attack.by ?? 'stranger'} ${attack.name}`,
      longest(probes.health),
      longest(probes.push),
      longest(probes.publish),
      longest(probes.hear),
      longest(probes['sign in']),
      String(Math.round(bare)),
      String(Math.round(memoryBytesMax / 2 ** 20)),
      attack.metBy,
    ],
  };
}

/** Puts the rows in the place of those that the document has. */
export function writeTable(rows: readonly TableRow[]): void {
  const text = readFileSync(file, 'utf8');
  const from = text.indexOf(begins);
  const to = text.indexOf(ends);
  if (from < 0 || to < from) throw new Error(`${file} has no place for the table of attacks.`);
  const sorted = rows.toSorted((a, b) => (a.cells[0] ?? '').localeCompare(b.cells[0] ?? ''));
  const lines = [head, head.map(() => '---'), ...sorted.map(({ cells }) => cells)];
  const table = lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
  writeFileSync(file, `${text.slice(0, from)}${begins}\n${table}\n${text.slice(to)}`);
}
