// Asks for a password on the terminal without echo, or reads it from standard input.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';

/** Discards readline's output, so that the password is not shown. */
const silent = new Writable({ write: (_chunk, _encoding, done) => done() });

/** The password, from standard input or typed without echo. A line end at its end is removed. */
export async function askPassword(options: { readonly fromStdin: boolean }): Promise<string> {
  if (options.fromStdin) return (await readAll(process.stdin)).replace(/\r?\n$/, '');
  // Created before the prompt: from here on the terminal shows nothing that is typed.
  const answers = createInterface({ input: process.stdin, terminal: true, output: silent });
  process.stderr.write('Password: ');
  const password = await answers.question('');
  answers.close();
  process.stderr.write('\n');
  return password;
}
