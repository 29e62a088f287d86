// Defines the verbs of the command line: `serve`, `config`, `user`, `secret`, `import`, `export`, `backup`,
// `restore`, `check`, `move`, `nodes`, `database`. Each has its --help. A verb's code is loaded only when the verb is called, because loading the
// server's code takes longer than most other verbs run.
import { Command } from 'commander';
import { addTransferVerbs } from './transfer-verbs.ts';

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
  dundun user password awa          set a new password; ends every token made before
  dundun import log.csv --device d  bring in a file of datapoints
  dundun export --device d --out f.csv
                                    take datapoints out as CSV, NDJSON or Parquet
  dundun backup /backups/today      copy all data into one file while the service runs
  dundun check                      look whether the data folder is whole`,
    );
  program
    .command('serve')
    .description('start the service: HTTP, MQTT and the store')
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
  addUserVerbs(program);
  addSecretVerbs(program);
  addTransferVerbs(program);
  addDataVerbs(program);
  addDatabaseVerbs(program);
  return program;
}

function addUserVerbs(program: Command): void {
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
    .description('set a new password; tokens and API keys made before are no longer good')
    .option('--password-stdin', 'read the password from standard input instead of asking')
    .addHelpText('after', '\nExample: printf %s "$PASSWORD" | dundun user password awa --password-stdin')
    .action(async (name, options) => (await import('./user-command.ts')).setPassword(name, options));
  user
    .command('webhook-key <username>')
    .description("make a new key for the user's webhooks; the one before stays good for a day")
    .addHelpText('after', '\nExample: dundun user webhook-key awa')
    .action(async (name) => (await import('./user-command.ts')).rotateWebhookKey(name));
  user
    .command('import <file>')
    .description('make the accounts of a JSON file, with the ids and password hashes they had elsewhere')
    .option('--dry-run', 'check the whole file and make nothing')
    .addHelpText(
      'after',
      `
The file is a JSON array of users: username, and where you have them id (UUID), createdTime (milliseconds since 1970),
passwordHash (PHC string of argon2id) or password, admin, firstName, lastName, email, messages_from, and as arrays phone
(with country code), address, facebook, twitter, telegram, webhook. Each line of the report has number, name and what
became of the user; the exit code is 1 when one was refused. A user who is there already under the same id and name is
left as they are.

Example: dundun user import --dry-run users.json && dundun user import users.json`,
    )
    .action(async (file, options) => (await import('./user-command.ts')).importFile(file, options));
}

function addSecretVerbs(program: Command): void {
  program
    .command('secret')
    .description('secrets that the service makes for itself: replace them; works beside a running server too')
    .command('rotate <name>')
    .description('replace a secret: `token`, the key that signs tokens')
    .option('--overlap <time>', 'how long what was signed before is good still, such as 90s, 10m, 1h or 0', '10m')
    .addHelpText(
      'after',
      `
A running server signs with the new key within a second, and nobody has to sign in again: no token lives longer than ten
minutes, and those made before go on until the overlap is over. After a leak take --overlap 0: all tokens end at once, and
clients get new ones with their passwords or sessions. A second rotation ends what was signed before the first.

The keys of webhooks are the users' own: \`dundun user webhook-key <username>\`.

Example: dundun secret rotate token --overlap 1h`,
    )
    .action(async (name, options) => (await import('./secret-command.ts')).rotateSecret(name, options));
}

function addDataVerbs(program: Command): void {
  program
    .command('backup <file>')
    .description('copy all data into one file, beside a running server or without one')
    .option('--force', 'replace the file if it is there')
    .option('--damaged', 'keep the copy although the checks find something in it')
    .addHelpText(
      'after',
      `
The file is the state of one moment, of everything: accounts, devices, datapoints, MQTT sessions, notifications. It is read
back and checked as \`dundun check\` does before it gets its name, so a file of that name is a whole backup. It takes as
much room as the database. The service goes on meanwhile; no token is needed, but the rights to read the data folder:
run it as the account of the service, or as root.

It holds secrets: hashes of passwords and API keys, the keys that sign tokens and webhooks. Only its owner may read it
(mode 0600); keep it like that wherever it goes, encrypted where others come by.

Example: dundun backup /backups/dundun-$(date +%F) && dundun check /backups/dundun-$(date +%F)`,
    )
    .action(async (file, options) => (await import('./backup-command.ts')).backUp(file, options));
  program
    .command('restore <file>')
    .description('put a backup into an empty data folder')
    .option('--replace', 'lose what is in the data folder')
    .option('--damaged', 'restore although the checks find something')
    .addHelpText(
      'after',
      `
Stop the service first. The file is compared with its own SHA-256 and checked; what is no whole backup is refused. Run it as
the account of the service: the files belong to who runs it.

All is as it was at that moment: also passwords, keys and shares that were changed or revoked since. Messages of
notifications that waited then are sent.

Example: DUNDUN_DATA_DIR=/var/lib/dundun dundun restore /backups/dundun-2026-11-21`,
    )
    .action(async (file, options) => (await import('./backup-command.ts')).restore(file, options));
  program
    .command('check [place]')
    .description('look whether a data folder, or a backup, is whole; changes nothing by itself')
    .option('--json', 'as JSON')
    .option('--forget-damaged', 'first remove what is stored of datapoints that cannot be read any more')
    .addHelpText(
      'after',
      `
Without a place it is the data folder of DUNDUN_DATA_DIR; beside a running server too. Each finding says what, where and
what to do. Exit codes: 0 all is well, 1 something was found, 2 it could not look.

Reads of a span of which datapoints are damaged are refused (500), so that nobody takes what is left for all there was.
Of damage in what is not compressed yet nobody can say which sensors it concerns: the log of the service tells of it,
and all others are read.
When you have no backup, or do not want to go back to it, --forget-damaged removes what cannot be read, for good, and reads
of that span give what else there is. Run it as the account of the service; beside a running server too.

Example: dundun check /var/lib/dundun || mail -s 'dundun check' admin@example.org`,
    )
    .action(async (place, options) => (await import('./check-command.ts')).check(place, options));
  program
    .command('move')
    .description('move all data from the data folder to an empty PostgreSQL database, or back')
    .requiredOption(
      '--to <place>',
      'the database, as postgres://user:password@host:5432/database; or an empty folder, for the way back',
    )
    .addHelpText(
      'after',
      `
Run it beside the service: it copies what is large, the compressed datapoints. Then stop the service and run it again: it
copies what has changed since and all records (accounts, devices, notifications, MQTT sessions and their messages), reads
everything back and compares it, and says that the folder was moved. That takes seconds. Then start the service with
DUNDUN_DATABASE_URL. It may be cut off at any moment, and run again; until the end the folder is as it was.

With DUNDUN_DATABASE_URL set it moves from that database to a folder, in the same two steps: beside the servers, and again
when all of them are stopped. Then start one server with DUNDUN_DATA_DIR, and without DUNDUN_DATABASE_URL.

Examples: DUNDUN_DATA_DIR=/var/lib/dundun dundun move --to postgres://dundun:password@db.example/dundun
          DUNDUN_DATABASE_URL=postgres://… dundun move --to /var/lib/dundun-back`,
    )
    .action(async (options) => (await import('./move-command.ts')).move(options));
}

function addDatabaseVerbs(program: Command): void {
  program
    .command('nodes')
    .description('list the servers on a PostgreSQL database: whether they live, and what they hold')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
A server that has been silent for five seconds is dead: what it held goes to others. Connections are those of all servers
and commands, by the part that has them.

Example: DUNDUN_DATABASE_URL=postgres://… dundun nodes`,
    )
    .action(async (options) => (await import('./nodes-command.ts')).listNodes(options));
  program
    .command('database')
    .description('the PostgreSQL database of DUNDUN_DATABASE_URL: distribute its tables by Citus')
    .command('distribute')
    .description(
      'go from plain PostgreSQL to Citus: the log by writer, compressed datapoints by sensor; beside the servers',
    )
    .option('--shards <number>', 'shards of each group of tables', '32')
    .option('--dry-run', 'print the statements, and what stands in the way; change nothing')
    .addHelpText(
      'after',
      `
The database must be the coordinator of Citus 12 or later, with workers added. Servers need not be stopped: first they go
over to statements that touch one shard each, then the tables are distributed. Pushes are taken meanwhile; compressing, removals
and corrections of datapoints wait while the tables are copied. It may be cut off at any moment, and run again: what is
distributed stays so. Take a backup first; docs/scaling.md has how to look at what came of it.

Exit codes: 0 done, 1 refused, or with --dry-run something stands in the way.

Example: DUNDUN_DATABASE_URL=postgres://… dundun database distribute --dry-run`,
    )
    .action(async (options) => (await import('./database-command.ts')).distributeDatabase(options));
}
