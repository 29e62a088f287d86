// The verbs `import` and `export`: their options and help texts.
import { type Command, Option } from 'commander';

const service = `
The service is at --url (or DUNDUN_URL), by default http://localhost:8080. Sign in with a token or an API key in DUNDUN_TOKEN
(or --token, which other users of this machine can see), or with --user and the password in DUNDUN_PASSWORD or typed when
asked; without either you are guest.`;

function addService(verb: Command): Command {
  return verb
    .option('--url <address>', 'where the service is')
    .option('--token <token>', 'a token or an API key')
    .option('--user <name>', 'sign in by name and password');
}

export function addTransferVerbs(program: Command): void {
  addImport(program);
  addExport(program);
}

function addImport(program: Command): void {
  addService(program.command('import <file>').description('bring a file of datapoints into a service; - is standard input'))
    .option('--device <id>', 'the device, where no column names it')
    .option('--sensor <id>', 'the sensor, where the values are in a column "value" and none names it')
    .option('--map <column=role...>', 'the meaning of a column: a sensor, device/sensor, or a role; once a column is mapped to a sensor, unmapped columns are ignored')
    .option('--timezone <name>', 'time zone of times without an offset, such as Europe/Paris')
    .option('--time-format <format>', 'iso, s, ms, or a pattern such as "D.M.YYYY H:mm"')
    .option('--delimiter <char>', 'the separator of fields: , ; | or tab')
    .option('--decimal <char>', 'the decimal separator: . or ,')
    .option('--header', 'the first line names the columns')
    .option('--no-header', 'no line names the columns; map them by number')
    .option('--skip-lines <count>', 'lines before the header')
    .option('--missing <words>', 'words that mean "no value", separated by commas, such as "-999,ERR"')
    .addOption(new Option('--values <kind>', 'the type of values').choices(['auto', 'number', 'text']))
    .addOption(new Option('--format <format>', 'format of the file; by default from its name').choices(['csv', 'ndjson', 'json']))
    .option('--encoding <name>', 'encoding of the file, such as windows-1252; by default UTF-8')
    .option('--create-sensors', 'create sensors that a device does not have')
    .option('--skip-duplicates', 'skip datapoints that are stored already: the same value at the same time')
    .option('--keep-received', 'keep the times of receiving that an export has')
    .option('--dry-run', 'show how the file is interpreted and what would be stored; store nothing')
    .addHelpText('after', `
Delimiter, decimal separator, header and format of times are detected and shown. A wide file has a time and a column for each
sensor; a long one has a sensor, a time and a value on each line. Roles of columns: timestamp, date and time in separate columns,
device, sensor, value, received, unit, ignore. A column is named as in the header, or by its number from 1.
Try with --dry-run first.

A time that clocks skipped is refused; a time that they showed twice means the first occurrence until the device has reached it,
then the second. Notifications are not evaluated for imported datapoints. What the service has acknowledged is stored once, even
if the network fails in between. To import a file again, or the rest of an interrupted one, use --skip-duplicates.
${service}

Exit codes: 0 all is stored, 1 some lines were refused, 2 it could not begin or go on.

Examples:
  dundun import logger.csv --device field-3 --timezone Europe/Paris --dry-run
  dundun import logger.csv --device field-3 --map "Temp (°C)=TC" Hum=RH Battery=ignore
  dundun import old.csv --no-header --map 1=timestamp 2=field-3/TC 3=field-4/TC
  dundun export --device field-3 --out - | dundun import - --url https://other --keep-received --create-sensors`)
    .action(async (file, options) => (await import('./import-command.ts')).importFile(file, options)); // biome-ignore format: a text
}

function addExport(program: Command): void {
  addService(program.command('export').description('take datapoints out of a service'))
    .requiredOption('--device <id...>', 'the devices')
    .option('--sensor <id...>', 'the sensors; by default all of the devices')
    .option('--from <time>', 'the earliest time, such as 2026-06-01 or 2026-06-01T12:00:00Z')
    .option('--to <time>', 'the latest time, a day to its end')
    .addOption(new Option('--format <format>', 'format of the file; by default from its name, else csv').choices(['csv', 'ndjson', 'parquet']))
    .requiredOption('--out <file>', 'the file; - is standard output')
    .option('--calibrated', 'values as online calibration corrects them, instead of as they were pushed')
    .addHelpText('after', `
Rows come by time, with device, sensor, time, time of receiving, and value. In CSV each value is written as JSON, so that an
import stores the same values: texts are quoted. Parquet has numbers in the column value and all other values as JSON in
value_json; pandas, DuckDB and R can read it. The file gets its name only when it is complete.
${service}

Exit codes: 0 all is there, 2 it could not begin or go on.

Examples:
  dundun export --device field-3 --out field-3.csv
  dundun export --device field-3 field-4 --sensor TC --from 2026-06-01 --to 2026-06-30 --out june.parquet
  dundun export --device field-3 --format ndjson --out - | gzip > field-3.ndjson.gz`)
    .action(async (options) => (await import('./export-command.ts')).exportDatapoints(options)); // biome-ignore format: a text
}
