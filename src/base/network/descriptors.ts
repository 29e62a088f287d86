// The number of descriptors (files and connections) that the process may open. Asked once at start by server.ts.
import { readFileSync } from 'node:fs';

/** The soft limit of open files, known on Linux only (elsewhere undefined). Node.js has raised it to the hard limit. */
export function descriptorsMax(): number | undefined {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return undefined;
  }
  const soft = /^Max open files +(\d+) /m.exec(text)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
