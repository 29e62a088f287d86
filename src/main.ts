// Start, wait for a signal, stop; and the command-line verbs.
import { runCommand } from './cli/command.ts';

await runCommand(process.argv.slice(2));
