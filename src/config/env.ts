// The settings as strings: from the environment, and from a file of NAME=value lines that DUNDUN_CONFIG names.
// The environment comes first.
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

export type Env = Readonly<Record<string, string | undefined>>;

/** @throws Error when the file named by DUNDUN_CONFIG cannot be read. */
export function readEnv(environment: Env): Env {
  const file = environment['DUNDUN_CONFIG'];
  if (file === undefined || file === '') return environment;
  try {
    return { ...parseEnv(readFileSync(file, 'utf8')), ...definedOf(environment) };
  } catch (error) {
    throw new Error(`DUNDUN_CONFIG names the file ${file}, which cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function definedOf(environment: Env): Env {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined));
}
