// The entry point of the process: runs the command-line verb of its arguments (cli/command.ts).
import { runCommand } from './cli/command.ts';

await runCommand(process.argv.slice(2));
