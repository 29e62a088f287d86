// The baseline of series: what one would write without thinking twice, a SQLite table with an index on sensor and time,
// asked the same questions over HTTP in a process of its own. It answers with the number of rows, so that the making of
// JSON is not held against it. Started by sections/series.ts with the folder for the file.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Dice } from '../load/dice.ts';
import { Pacer, paceMs } from '../load/pacer.ts';
import { minuteMs, Year, yearSensors, yearStartMs } from '../load/year.ts';

const database = new DatabaseSync(join(process.argv[2] ?? '.', 'table.db'));
// While it is filled nothing is synced, so that the bench is sooner done; from then on every commit is.
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
  CREATE TABLE datapoint (sensor INTEGER NOT NULL, at INTEGER NOT NULL, received INTEGER NOT NULL, value REAL NOT NULL)`);
const rowsAtOnce = 25;
const row = '(?, ?, ?, ?)';
const insert = database.prepare(`INSERT INTO datapoint VALUES ${row}`);
const insertMany = database.prepare(`INSERT INTO datapoint VALUES ${Array(rowsAtOnce).fill(row).join(', ')}`);
const statements = {
  last: 'SELECT at, received, value FROM datapoint WHERE sensor = ? ORDER BY at DESC LIMIT 1',
  range: 'SELECT at, received, value FROM datapoint WHERE sensor = ? AND at BETWEEN ? AND ? ORDER BY at',
  // 250 spans with four datapoints each.
  points: `SELECT min(at), max(at), min(value), max(value) FROM datapoint WHERE sensor = ?1 AND at BETWEEN ?2 AND ?3
    GROUP BY CAST((at - ?2) * 250 / (?3 - ?2 + 1) AS INTEGER)`,
  days: `SELECT at / 86400000 AS day, min(value), max(value), avg(value) FROM datapoint
    WHERE sensor = ? AND at BETWEEN ? AND ? GROUP BY day`,
};
const year = new Year();
const network = new Dice(0);

/** Takes in minutes `from` to `to` of all sensors, in the order in which we get them. */
function load(from: number, to: number): number {
  for (let sensor = 0; sensor < yearSensors; sensor++) {
    database.exec('BEGIN');
    let values: number[] = [];
    for (let minute = from; minute < to; minute++) {
      const at = yearStartMs + minute * minuteMs;
      values.push(sensor, at, at + 20 + network.below(380), year.next(sensor));
      if (values.length < rowsAtOnce * 4) continue;
      insertMany.run(...values);
      values = [];
    }
    for (let n = 0; n < values.length; n += 4) insert.run(...values.slice(n, n + 4));
    database.exec('COMMIT');
  }
  return (to - from) * yearSensors;
}

function index(): number {
  database.exec(`CREATE INDEX datapoint_sensor_at ON datapoint (sensor, at);
    PRAGMA wal_checkpoint(TRUNCATE); PRAGMA synchronous = FULL`);
  return 0;
}

/** Takes in so many a second for so many seconds, one commit at a time. */
function ingest(perS: number, seconds: number): number {
  const endMs = performance.now() + seconds * 1000;
  const pacer = new Pacer(perS);
  let sensor = 0;
  const ticks = setInterval(() => {
    if (performance.now() > endMs) clearInterval(ticks);
    database.exec('BEGIN');
    for (let due = pacer.take(perS); due > 0; due--) {
      sensor = (sensor + 1) % yearSensors;
      insert.run(sensor, Date.now(), Date.now(), 20);
    }
    database.exec('COMMIT');
  }, paceMs);
  return 0;
}

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const number = (name: string) => Number(searchParams.get(name));
  response.end(String(rowsFor(pathname.slice(1), number)));
}

const prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>();

function rowsFor(name: string, number: (name: string) => number): number {
  if (name === 'load') return load(number('from'), number('to'));
  if (name === 'index') return index();
  if (name === 'ingest') return ingest(number('perS'), number('seconds'));
  if (name === 'count') return Number(database.prepare('SELECT count(*) AS n FROM datapoint').get()?.['n']);
  const statement = prepared.get(name) ?? database.prepare(statements[name as keyof typeof statements]);
  prepared.set(name, statement);
  const bounds = name === 'last' ? [] : [number('from'), number('to')];
  return statement.all(number('sensor'), ...bounds).length;
}

const server = createServer(answer);
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ msg: 'ready', http: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
