// An address of a database that is wrong in one part: a start and every command end with one line that says which part, and what to do, and
// never with the password; with the exit code of wrong settings, unless the server is merely away.
import assert from 'node:assert/strict';
import { chownSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { giveToPostgres, PostgresServer, postgresOwner, withoutPostgres } from '../../support/postgres.ts';
import { makeFolder, runVerb, startDundun, startRefused } from '../../support/process.ts';
import { Authority } from '../../support/tls/authority.ts';

const password = 'dr/um@7#x';
const encoded = encodeURIComponent(password);
/** No part of a password is ever told. */
const secrets = /dr\/um|dr%2Fum|um@7|wrong-one/;

const rules = ['local all all trust', 'host all all all scram-sha-256'];

/** A server that asks for passwords and offers TLS, on an address of this machine that no other test has. */
class StrictServer {
  readonly server: PostgresServer;
  readonly authority: string;
  readonly #relay: Server;

  private constructor(server: PostgresServer, relay: Server, authority: string) {
    this.server = server;
    this.#relay = relay;
    this.authority = authority;
  }

  static async start(): Promise<StrictServer> {
    const folder = makeFolder();
    const authority = new Authority('Test CA');
    const { cert, key } = authority.issue('localhost');
    const file = (name: string, text: string) => {
      const path = join(folder, name);
      writeFileSync(path, text, { mode: 0o600 });
      const owner = postgresOwner();
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
      return path;
    };
    const address = `127.${1 + (process.pid % 200)}.${1 + (Math.floor(process.pid / 200) % 200)}.7`;
    const settings = {
      hba_file: file('hba', `${rules.join('\n')}\n`),
      ssl_cert_file: file('cert', cert),
      ssl_key_file: file('key', key),
      ...{ ssl: 'on', listen_addresses: address },
    };
    const authorityFile = file('ca.pem', authority.cert);
    giveToPostgres(folder);
    const server = await PostgresServer.start({ settings });
    // Names of the certificate are those of 127.0.0.1.
    const relay = createServer((near) => {
      const far = connect(5432, address);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => void [near.destroy(), far.destroy()]);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    return new StrictServer(server, relay, authorityFile);
  }

  get port(): number {
    return (this.#relay.address() as AddressInfo).port;
  }

  /** Runs a statement as the superuser. */
  run(sql: string, database = 'postgres'): Promise<unknown> {
    return this.server.query(this.server.url(database, 'postgres'), sql);
  }

  close(): void {
    this.#relay.close();
    this.server.remove();
  }
}

suite('an address of a database that is wrong', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let strict: StrictServer;
  let database: string;

  before(async () => {
    strict = await StrictServer.start();
    await strict.run(`ALTER ROLE dundun PASSWORD '${password}'`);
    await strict.run(`CREATE ROLE stranger LOGIN PASSWORD '${password}'`);
    await strict.run(`CREATE ROLE asleep NOLOGIN PASSWORD '${password}'`);
    database = new URL(await strict.server.createDatabase()).pathname.slice(1);
    await strict.run(`REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`);
    await strict.run('CREATE DATABASE closed TEMPLATE template0');
  });
  after(() => strict?.close());

  const given = (url: string) => ({ DUNDUN_DATABASE_URL: url });
  const address = (rest: string, { user = `dundun:${encoded}`, host = `127.0.0.1:${strict.port}` } = {}) =>
    given(`postgres://${user}@${host}/${rest}`);

  /** The start and commands say the same, in a line of its own, and nothing of the password. */
  async function assertRefused(
    settings: ReturnType<typeof given>,
    said: RegExp,
    { code = 2, verbs = [['nodes']] }: { readonly code?: number; readonly verbs?: readonly string[][] } = {},
  ): Promise<void> {
    const ends = [startRefused({ settings }), ...verbs.map((verb) => runVerb(verb, { settings }))];
    for (const ended of await Promise.all(ends)) {
      assert.equal(ended.code, code, ended.stderr);
      assert.equal(ended.stdout, '');
      const lines = ended.stderr.trimEnd().split('\n');
      assert.match(lines.at(-1) ?? '', said);
      assert.ok(lines.length === (/settings are not right/.test(lines[0] ?? '') ? 2 : 1), ended.stderr);
      assert.doesNotMatch(ended.stderr, secrets);
    }
  }

  test('says that the password is wrong, of a role that is not there too', async () => {
    const said = (role: string) =>
      new RegExp(`^dundun: DUNDUN_DATABASE_URL: the server at 127\\.0\\.0\\.1:\\d+ knows no role ${role} with this`);
    const verbs = [['user', 'list'], ['secret', 'rotate', 'token'], ['nodes'], ['database', 'distribute', '--dry-run']];
    await assertRefused(address(database, { user: 'dundun:wrong-one' }), said('dundun'), { verbs });
    await assertRefused(address(database, { user: `nobody:${encoded}` }), said('nobody'));
  });

  test('says that the server asks for a password, or lets the role not in', async () => {
    await assertRefused(address(database, { user: 'dundun' }), /asks for the password of the role dundun/);
    await assertRefused(
      address(database, { user: `asleep:${encoded}` }),
      /does not let the role asleep in: role "asleep" is not permitted to log in\. Correct the role, or let it in/,
    );
  });

  test('says that there is no such database, or that the role may not come to it', async () => {
    await assertRefused(address('missing'), /DUNDUN_DATABASE_URL: there is no database missing at 127/);
    await assertRefused(address(''), /there is no database dundun at .* \(the address ends without a database/);
    await assertRefused(
      address(database, { user: `stranger:${encoded}` }),
      new RegExp(`the role stranger may not connect to the database ${database} at`),
    );
    await assertRefused(address('closed'), /The role dundun may not make tables in the database\. Make it the owner/, {
      code: 1,
    });
  });

  test('says that signs of the password are to be written otherwise, where they end it', async () => {
    const said =
      /DUNDUN_DATABASE_URL: the value given must be an address such as .*, with signs of user and password written @ as %40/;
    for (const cut of ['dr/um', '7/dr/um', '7?dr/um', '7#dr/um', 'dr%e9', '7@x?dr'])
      await assertRefused(address(database, { user: `dundun:${cut}` }), said);
  });

  test('takes a password with an @ as it is', async () => {
    await strict.run("ALTER ROLE stranger PASSWORD 'dr@um:7'");
    await strict.run(`GRANT CONNECT ON DATABASE ${database} TO stranger`);
    await strict.run('GRANT SELECT ON ALL TABLES IN SCHEMA public TO stranger', database);
    const { code, stderr } = await runVerb(['nodes'], { settings: address(database, { user: 'stranger:dr@um:7' }) });
    assert.equal(code, 0, stderr);
  });

  test('says that there is no such host; and where nobody answers, that the database is away, with 1', async () => {
    const host = 'no-such-host.invalid';
    await assertRefused(address(database, { host }), /^dundun: There is no host named no-such-host\.invalid/, {
      code: 1,
    });
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await assertRefused(
      address(database, { host: `127.0.0.1:${port}` }),
      new RegExp(`^dundun: The database at 127.0.0.1:${port} does not answer: connect ECONNREFUSED .* See that`),
      { code: 1 },
    );
  });

  test('says which file of TLS cannot be read, and which words sslmode has', async () => {
    await assertRefused(
      address(`${database}?sslmode=verify-full&sslrootcert=/no/such.pem`),
      /DUNDUN_DATABASE_URL: the file \/no\/such\.pem \(sslrootcert, sslcert or sslkey\) cannot be read: ENOENT/,
    );
    await assertRefused(address(`${database}?sslmode=verify`), /must have disable, require, verify-ca or verify-full/);
    await assertRefused(address(`${database}?sslmode=verify-ca`), /must name the authority by sslrootcert=FILE/);
  });

  test('words of sslmode mean what they mean to libpq, and nothing is warned of', async () => {
    const [byName, byNumber] = [`localhost:${strict.port}`, `127.0.0.1:${strict.port}`];
    const isEncrypted = async (mode: string, host: string) => {
      const ca = mode.startsWith('verify') ? `&sslrootcert=${strict.authority}` : '';
      const settings = address(`${database}?sslmode=${mode}${ca}`, { host });
      const dundun = await startDundun({ settings: { ...settings, DUNDUN_LOG_LEVEL: 'warn' } });
      const sql = `SELECT bool_and(ssl) AS encrypted FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name LIKE 'dundun %' AND usename = 'dundun'`;
      const [row] = (await strict.run(sql)) as [{ encrypted: number }];
      await dundun.stop();
      assert.equal(dundun.stderr, '', mode);
      return row.encrypted === 1;
    };
    assert.equal(await isEncrypted('disable', byNumber), false);
    for (const mode of ['prefer', 'require', 'verify-ca']) assert.equal(await isEncrypted(mode, byNumber), true, mode);
    assert.equal(await isEncrypted('verify-full', byName), true);
    const untrusted = /the certificate of the server at .* is not trusted: .*\. Name its authority by sslrootcert=FILE/;
    const other = join(makeFolder(), 'other.pem');
    writeFileSync(other, new Authority('Other CA').cert);
    await assertRefused(address(`${database}?sslmode=verify-full`, { host: byName }), untrusted);
    await assertRefused(address(`${database}?sslmode=verify-ca&sslrootcert=${other}`), untrusted);
    await assertRefused(address(`${database}?sslmode=verify-full&sslrootcert=${strict.authority}`), untrusted);
  });

  test('says that the server does not encrypt, where it is to', async () => {
    const socket = new URL(strict.server.url(database));
    socket.searchParams.set('sslmode', 'require');
    await assertRefused(given(socket.href), /the server on the socket in .* does not encrypt connections/);
  });

  test('is refused as the place of a move, too, and nothing is moved', async () => {
    const move = (to: string) => runVerb(['move', '--to', to], { settings: { DUNDUN_DATA_DIR: makeFolder() } });
    for (const [user, said] of [
      ['dundun:wrong-one', /^dundun: --to: the server at .* knows no role dundun with this password/],
      ['dundun:7/dr/um', /^dundun: --to: the value given must be an address such as/],
    ] as const) {
      const { code, stderr } = await move(`postgres://${user}@127.0.0.1:${strict.port}/${database}`);
      assert.deepEqual([code, said.test(stderr)], [2, true], stderr);
      assert.doesNotMatch(stderr, secrets);
    }
  });
});
