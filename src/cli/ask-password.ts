// Asks for a password on the terminal, without an echo, or reads it from standard input. Used by verbs that need one.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';

/** Takes the echo of what is typed, so that a password does not show. */
const silent = new Writable({ write: (_chunk, _encoding, done) => done() });

export async function askPassword(options: { readonly fromStdin: boolean }): Promise<string> {
  if (options.fromStdin) return (await readAll(process.stdin)).replace(/\r?\n$/, '');
  // Before it asks: from here on the terminal shows nothing of what is typed.
  const answers = createInterface({ input: process.stdin, terminal: true, output: silent });
  process.stderr.write('Password: ');
  const password = await answers.question('');
  answers.close();
  process.stderr.write('\n');
  return password;
}
