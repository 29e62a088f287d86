// The command line: `serve`, `config`, `user`. Each verb teaches by its --help, and loads its code when it is called:
// the server's takes longer than all that the others do.
import { Command } from 'commander';

export async function runCommand(args: readonly string[]): Promise<void> {
  await makeProgram().parseAsync([...args], { from: 'user' });
}

function makeProgram(): Command {
  const program = new Command('dundun')
    .description(
      'Dundun keeps the readings of your devices: they push over REST and MQTT, and an acknowledgement means stored.',
    )
    .showHelpAfterError('(add --help for how it works)')
    .addHelpText(
      'after',
      `
Settings come from the environment (DUNDUN_HTTP_PORT=8080 …) or from a file of such lines named by DUNDUN_CONFIG;
\`dundun config\` lists them all with what they are for.

Examples:
  dundun serve                      start; Ctrl-C or SIGTERM stops it and loses nothing
  dundun user add awa --admin       make an account; asks for a password
  dundun user list                  who has an account
  dundun user password awa          set a new password; ends every token made before`,
    );
  program
    .command('serve')
    .description('start the service: HTTP, MQTT and the embedded store')
    .addHelpText(
      'after',
      '\nWhen it takes work it prints a line of JSON: {"msg":"ready","http":8080,"mqtt":1883}.\nOne server uses a data folder at a time; a second one is refused.\n\nExample: DUNDUN_DATA_DIR=/var/lib/dundun dundun serve',
    )
    .action(async () => (await import('./serve-command.ts')).serve());
  program
    .command('config')
    .description('print every setting: its value, its default, what it is for')
    .addHelpText(
      'after',
      '\nSecrets are not shown. What it prints can be edited and used as the file that DUNDUN_CONFIG names.\n\nExample: dundun config > dundun.env && DUNDUN_CONFIG=dundun.env dundun serve',
    )
    .action(async () => (await import('./config-command.ts')).printConfig());
  const user = program
    .command('user')
    .description('accounts: add, list, set a password, import; works beside a running server too')
    .addHelpText('after', '\nExample: dundun user add awa --admin');
  user
    .command('add <username>')
    .description('make an account')
    .option('--admin', 'may do everything')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--email <address>')
    .option('--phone <number...>', 'with country code, for messages')
    .option('--password-stdin', 'read the password from standard input instead of asking')
    .addHelpText('after', '\nExample: printf %s "$PASSWORD" | dundun user add gateway-7 --password-stdin')
    .action(async (name, options) => (await import('./user-command.ts')).addUser(name, options));
  user
    .command('list')
    .description('list the accounts')
    .option('--json', 'as JSON, one account a line')
    .addHelpText('after', '\nExample: dundun user list --json')
    .action(async (options) => (await import('./user-command.ts')).listUsers(options));
  user
    .command('password <username>')
    .description('set a new password; tokens made before are no longer good')
    .option('--password-stdin', 'read the password from standard input instead of asking')
    .addHelpText('after', '\nExample: printf %s "$PASSWORD" | dundun user password awa --password-stdin')
    .action(async (name, options) => (await import('./user-command.ts')).setPassword(name, options));
  user
    .command('import <file>')
    .description('make the accounts of a JSON file, with the ids and password hashes they had elsewhere')
    .option('--dry-run', 'check the whole file and make nothing')
    .addHelpText(
      'after',
      `
The file is a JSON array of users: username, and where you have them id (UUID), createdTime (milliseconds since 1970),
passwordHash (PHC string of argon2id) or password, admin, firstName, lastName, email, messages_from, and as arrays phone
(with country code), address, facebook, twitter, telegram, webhook. Each line of the report has number, name and what became of the user; the exit code is 1 when
one was refused. A user who is there already under the same id and name is left as they are.

Example: dundun user import --dry-run users.json && dundun user import users.json`,
    )
    .action(async (file, options) => (await import('./user-command.ts')).importFile(file, options));
  return program;
}
