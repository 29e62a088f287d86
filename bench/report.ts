// The report: where it was measured, one part a section, one line a verdict. The same text for people and for a file.
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { isPinned } from './cores.ts';
import { median, shown } from './figures.ts';
import type { Section } from './section.ts';

export function renderReport(sections: readonly Section[], machine: string, command: string): string {
  const parts = sections.map(({ title, how, tables }) => [`## ${title}`, how, ...tables].join('\n\n'));
  return ['# Performance', `\`${command}\`\n\n${machine}`, ...parts, `## Verdict\n\n${renderVerdicts(sections)}`].join(
    '\n\n',
  );
}

const words = { reached: 'reached', missed: 'MISSED', doubtful: 'DOUBTFUL (others were busy)' } as const;

function renderVerdicts(sections: readonly Section[]): string {
  const verdicts = sections.flatMap((section) => section.verdicts);
  const faults = sections.flatMap((section) =>
    section.faults.map((fault) => `- WRONG COUNT ${section.title}: ${fault}`),
  );
  const lines = verdicts.map(({ target, outcome }) => `- ${words[outcome]} ${target}`);
  return [...lines, ...(faults.length > 0 ? faults : ['- every count is right'])].join('\n');
}

/** Where it was measured, in one paragraph; a commit costs what the disk costs, so that is measured too. */
export function describeMachine(folder: string): string {
  const [cpu] = cpus();
  const pinning = isPinned
    ? 'The measured process has the first core, the load generator the others.'
    : 'NOT PINNED: the measured process and the load generator share their cores, so ratios mean little.';
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown processor'}, Node.js ${process.version}, ${process.platform}. ${pinning} ${describeDisk(folder)}`;
}

const memoryDisk = 0x01021994;

function describeDisk(folder: string): string {
  if (statfsSync(folder).type === memoryDisk) return 'THE DISK IS IN MEMORY: commits cost nothing, figures flatter.';
  return `Writing 4 KiB through to the disk takes ${shown(measureSyncMs(folder))} ms.`;
}

function measureSyncMs(folder: string): number {
  const path = join(folder, `dundun-bench-sync-${process.pid}`);
  const file = openSync(path, 'w');
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const startMs = performance.now();
    writeSync(file, Buffer.alloc(4096), 0, 4096, i * 4096);
    fdatasyncSync(file);
    times.push(performance.now() - startMs);
  }
  closeSync(file);
  rmSync(path);
  return median(times);
}
