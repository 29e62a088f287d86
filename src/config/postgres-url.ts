// Reads the address of a PostgreSQL database, as DUNDUN_DATABASE_URL and `dundun move --to` have it. What is said of an address that is
// no good never repeats a part of it: where a password has a sign such as / or #, its rest is taken for the host or the database.

const example = 'postgres://user:password@host:5432/database';
const escapes = '@ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25';

/** Words of `sslmode`: those of libpq but `allow`, which pg does not know, and pg's own `no-verify`. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

export function postgresUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new Error(`must be an address such as ${example}`);
  if (!URL.canParse(value) || isCut(new URL(value)) || !isDecodable(new URL(value)))
    throw new Error(`must be an address such as ${example}, with signs of user and password written ${escapes}`);
  const { searchParams } = new URL(value);
  const mode = searchParams.get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    throw new Error('must have disable, require, verify-ca or verify-full as its sslmode');
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert'))
    throw new Error('must name the authority by sslrootcert=FILE beside sslmode=verify-ca');
  return value;
}

/** Whether a sign of the password has ended what is before the host. */
function isCut({ pathname, search, hash }: URL): boolean {
  return hash !== '' || pathname.includes('@') || search.includes('@');
}

function isDecodable({ username, password, hostname, pathname }: URL): boolean {
  try {
    for (const part of [username, password, hostname, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
