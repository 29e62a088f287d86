// What an attack is: something that a caller without the right to cost others anything does to a running service.
// Each attack stands in a file `<name>.attack.ts` of this folder, which exports `attacks`, a list of them; attacks.test.ts
// finds these files, runs every attack alone (`npm run test:long`: and three at a time) against the service as it is shipped, in a process
// of its own, while prober.ts asks `/health/live` and pushes as an ordinary user. After each it holds that:
// the process lives; no probe was refused; no probe waited much longer than a bare server on the same machine took at the
// same time (attacks.test.ts has the bounds); memory stayed under the ceiling of config/limits.ts; descriptors return to
// where they were; and the process stops in time.
//
// How to write one:
//   export const attacks: readonly Attack[] = [{
//     name: 'opens two thousand connections and says nothing',   // continues "A stranger …"
//     against: 'shares',
//     metBy: 'one address holds connections only while there is room (domain/callers)',
//     run: async (target) => { … },
//   }];
// `run` does its worst for about `attackMs` (target.isOver tells when that is past), expects to be refused and cut, closes
// what it opened, and throws only where the service answers what it must not (asserts of its own are welcome). It must be
// bounded in count and time by itself, and go to the target's ports alone. Sockets have an error listener (openSocket).
// attacker.ts has what most attacks need. Who is watched comes from 127.0.0.1: an attack on shares comes from elsewhere.
import { connect, type Socket } from 'node:net';
import type { Settings } from '../../support/process.ts';

/** Which class of docs/security.md an attack belongs to. */
export type AttackClass = 'sockets' | 'computing' | 'memory' | 'shares' | 'quotas' | 'identity';

export interface Attack {
  /** Continues the sentence "A stranger …" (or "A user …"). */
  readonly name: string;
  readonly against: AttackClass;
  /** What meets it, in a few words with the file's name: goes into the table of docs/security.md. */
  readonly metBy: string;
  /** Who does it: somebody without an account, or an ordinary user whose token is `target.userToken`. Default: a stranger. */
  readonly by?: 'stranger' | 'user';
  /** Settings of the service that it needs; where attacks run together their settings are put together. */
  readonly settings?: Settings;
  /** A program with its arguments that starts the service under a bound of the operating system, such as `prlimit`. */
  readonly startedBy?: readonly string[];
  /** Whether the service must be ready soon when it is started again with a small heap: for what fills what is stored. */
  readonly startsAgain?: true;
  /** Why it is left out here; else undefined. */
  readonly leftOut?: string | undefined;
  /** Made by the owner of the service before the clock starts, for what an attack finds in place. */
  readonly prepare?: (target: AttackTarget) => Promise<void>;
  readonly run: (target: AttackTarget) => Promise<void>;
  /** What must hold beside what holds for all; throws where it does not. `log`: of the service since the attack began. */
  readonly hold?: (end: { readonly log: string; readonly folder: string }) => void;
}

/** What an attacker knows and reaches. All addresses are of the loopback network. */
export interface AttackTarget {
  readonly url: string;
  readonly http: number;
  readonly mqtt: number;
  /** 0 without a certificate. */
  readonly mqtts: number;
  /** Of the figures, without a token. */
  readonly metrics: number;
  /** Whether HTTP is HTTPS. */
  readonly isTls: boolean;
  /** Of an ordinary user other than the one who is watched: username, password, and a token good for ten minutes. */
  readonly username: string;
  readonly password: string;
  readonly userToken: string;
  /** For `prepare` alone. */
  readonly adminToken: string;
  /** True once the attack has lasted long enough. */
  isOver(): boolean;
}

/** Milliseconds that an attack lasts. */
export const attackMs = process.env['DUNDUN_TEST_LONG'] === '1' ? 4_000 : 2_500;

/** The address of the attacker: not that of the user who is watched. */
export const stranger = '127.0.0.3';

/** A connection to a port of the target from an address of the loopback network, whose errors are nobody's. */
export function openSocket(port: number, { from = stranger }: { readonly from?: string } = {}): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => {});
  return socket;
}

/** Resolves when the socket is connected or closed. */
export function settled(socket: Socket): Promise<void> {
  if (!socket.connecting) return Promise.resolve();
  return new Promise((resolve) => {
    socket.once('connect', () => resolve());
    socket.once('close', () => resolve());
  });
}

/** Waits in an attack: for its pace, never for a result. */
export function pace(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
