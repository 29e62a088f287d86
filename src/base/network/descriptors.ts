// How many descriptors (files and connections) the process may have open. Asked once at start by server.ts.
import { readFileSync } from 'node:fs';

/** The soft limit, where the system tells it: Linux alone. Node.js has raised it to the hard one. */
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
