// Says why a database cannot be opened: which part of its address is wrong, and what to do; or that the server is away. For starts and
// commands, which end with it. Once a server runs, it waits for its database whatever the reason (database-error.ts). Nothing that is said
// holds the password.
import { Refusal } from '../../../base/refusal.ts';
import { SettingFault } from '../../../base/setting-fault.ts';
import { limits } from '../../../config/limits.ts';
import { writeFailureOf } from './database-error.ts';

/** An address, and where an operator has written it. */
export interface GivenAddress {
  readonly url: string;
  /** The name of the setting, or of an option of the command line. */
  readonly setting: string;
}

export const databaseSetting = 'DUNDUN_DATABASE_URL';

/** Codes of PostgreSQL for who may not come in. */
const wrongPassword = '28P01';
const notLetIn = '28000';
const noDatabase = '3D000';
const noRight = '42501';
/** What TLS says of a certificate. */
const untrusted = /^(CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT)/;

interface ConnectError {
  readonly code?: string;
  readonly message?: string;
  readonly syscall?: string;
  readonly path?: string;
  /** Of a host with several addresses: why each did not answer. */
  readonly errors?: readonly Error[];
}

/** @param error of the first connection. @returns a SettingFault where the address is wrong, a Refusal `storage` where the server is away, else the error. */
export function openingFaultOf(error: unknown, { url, setting }: GivenAddress): Error {
  if (error instanceof Refusal) return error;
  const wrong = wrongPartOf(error as ConnectError, partsOf(url));
  if (wrong !== undefined) return new SettingFault(setting, wrong);
  if (writeFailureOf(error).kind !== 'storage') return error as Error;
  const { where, host } = partsOf(url);
  // A database that is being started may have no name yet.
  if ((error as ConnectError).code === 'ENOTFOUND')
    return new Refusal(
      'storage',
      `There is no host named ${host}. See that the database runs and its name is known here, or correct the name (${setting}), and start again.`,
      { retryAfterS: limits.storageRetryAfterS },
    );
  return new Refusal(
    'storage',
    `The database ${where} does not answer: ${reasonOf(error as ConnectError)}. See that the server runs and can be reached from here (${setting}), and start again.`,
    { retryAfterS: limits.storageRetryAfterS },
  );
}

interface Parts {
  /** Host and port, or the folder of the socket. */
  readonly where: string;
  readonly host: string;
  readonly role: string;
  readonly database: string;
  /** Whether the address names it. */
  readonly hasDatabase: boolean;
}

function partsOf(url: string): Parts {
  const { hostname, port, username, pathname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  const number = searchParams.get('port') ?? (port === '' ? '5432' : port);
  const role = searchParams.get('user') ?? decodeURIComponent(username);
  const database = decodeURIComponent(pathname.slice(1));
  return {
    ...{ host, role: role === '' ? '(none named)' : role, hasDatabase: database !== '' },
    where: host.startsWith('/') ? `on the socket in ${host}` : `at ${host}:${number}`,
    database: database === '' ? role : database,
  };
}

/** @returns what is wrong with the address, and what to do; undefined where that is not the cause. */
function wrongPartOf(error: ConnectError, parts: Parts): string | undefined {
  const { code = '', message = '', syscall, path } = error;
  const { where, role, database, hasDatabase } = parts;
  if (syscall === 'open')
    return `the file ${path} (sslrootcert, sslcert or sslkey) cannot be read: ${code}. Correct its path or its rights.`;
  if (code === wrongPassword)
    return `the server ${where} knows no role ${role} with this password. Correct role or password; in the password @ is written %40, : %3A, / %2F, ? %3F, # %23 and % %25.`;
  if (message.startsWith('SASL') && message.includes('password'))
    return `the server ${where} asks for the password of the role ${role}, and the address has none. Write it as postgres://user:password@….`;
  if (code === notLetIn)
    return `the server ${where} does not let the role ${role} in: ${message}. Correct the role, or let it in (CREATE ROLE … LOGIN, pg_hba.conf).`;
  if (code === noDatabase)
    return `there is no database ${database} ${where}${hasDatabase ? '' : ' (the address ends without a database, so that of the role’s name was looked for)'}. Make it with CREATE DATABASE, or correct the end of the address: …:5432/database.`;
  if (code === noRight && message.includes('for database'))
    return `the role ${role} may not connect to the database ${database} ${where}. Take its owner, or GRANT CONNECT.`;
  return wrongEncryption(error, where);
}

function wrongEncryption({ code = '', message = '' }: ConnectError, where: string): string | undefined {
  if (message === 'The server does not support SSL connections')
    return `the server ${where} does not encrypt connections, and the address wants it to. Set ssl = on there, or sslmode=disable here.`;
  if (untrusted.test(code))
    return `the certificate of the server ${where} is not trusted: ${message}. Name its authority by sslrootcert=FILE, or choose another sslmode (docs/scaling.md, Encryption).`;
  return undefined;
}

function reasonOf({ message = '', errors = [], code = 'no reason' }: ConnectError): string {
  if (message !== '') return message;
  return errors.length > 0 ? errors.map((one) => one.message).join('; ') : code;
}
