// The settings as strings: from the environment, and from a file of NAME=value lines named by DUNDUN_CONFIG. The
// environment takes precedence.
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

export type Env = Readonly<Record<string, string | undefined>>;

/** @throws Error when the file named by DUNDUN_CONFIG cannot be read. */
export function readEnv(environment: Env): Env {
  const file = environment['DUNDUN_CONFIG'];
  if (file === undefined || file === '') return environment;
  try {
    const text = readFileSync(file, 'utf8');
    assertLines(text);
    return { ...parseEnv(text), ...definedOf(environment) };
  } catch (error) {
    throw new Error(`DUNDUN_CONFIG names the file ${file}, which cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function definedOf(environment: Env): Env {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined));
}

/** Refuses a malformed line, because it may have been meant to restrict access. */
function assertLines(text: string): void {
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || /^\s*(export\s+)?[A-Za-z_]\w*\s*=/.test(line)) continue;
    throw new Error(`line ${index + 1} is not NAME=value`);
  }
}
