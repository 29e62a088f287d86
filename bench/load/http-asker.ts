// The thread of HttpAsk: sends a question and reads its answer into the same few bytes each time, so that it has nothing to
// clear away. Understands answers with a length and those in pieces.
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

export interface AskerData {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Milliseconds, or what went wrong. */
export type AskAnswer = number | string;

const { port, headers } = workerData as AskerData;
const received = Buffer.allocUnsafeSlow(256 * 1024);
const headEnd = '\r\n\r\n';
const lastPiece = '0\r\n\r\n';

/** The answer that is on its way. */
interface Under {
  readonly path: string;
  readonly startMs: number;
  /** Until its end is seen. */
  head: string | undefined;
  /** Bytes of the body to come; undefined where it comes in pieces. */
  left: number | undefined;
  /** The last bytes of a body in pieces. */
  tail: string;
}

let socket: Socket | undefined;
let under: Under | undefined;

parentPort?.on('message', (path: string) => {
  socket ??= open();
  under = { path, startMs: performance.now(), head: '', left: undefined, tail: '' };
  const fields = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${fields.join('')}\r\n`);
});

function open(): Socket {
  const opened = connect({
    host: '127.0.0.1',
    port,
    noDelay: true,
    onread: {
      buffer: received,
      callback: (bytes) => {
        take(received.subarray(0, bytes));
        return true;
      },
    },
  });
  const lost = (why: string) => {
    socket = undefined;
    if (under !== undefined) end(`GET ${under.path}: ${why}`);
  };
  opened.on('error', (error) => lost(error.message));
  opened.on('close', () => lost('the connection was closed'));
  return opened;
}

function take(bytes: Buffer): void {
  if (under === undefined) return;
  if (under.head === undefined) takeBody(under, bytes);
  else takeHead(under, bytes);
}

function takeHead(of: Under, bytes: Buffer): void {
  const head = of.head + bytes.toString('latin1');
  const headBytes = head.indexOf(headEnd);
  of.head = head;
  if (headBytes < 0) return;
  of.head = undefined;
  const [status = ''] = head.split('\r\n', 1);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, headBytes))?.[1];
  of.left = length === undefined ? undefined : Number(length);
  if (!status.startsWith('HTTP/1.1 200 ')) end(`GET ${of.path}: ${status}`);
  else takeBody(of, Buffer.from(head.slice(headBytes + headEnd.length), 'latin1'));
}

function takeBody(of: Under, bytes: Buffer): void {
  if (of.left === undefined) {
    of.tail = (of.tail + bytes.toString('latin1', Math.max(0, bytes.length - lastPiece.length))).slice(
      -lastPiece.length,
    );
    if (of.tail !== lastPiece) return;
  } else {
    of.left -= bytes.length;
    if (of.left > 0) return;
  }
  end(performance.now() - of.startMs);
}

function end(answer: AskAnswer): void {
  under = undefined;
  parentPort?.postMessage(answer);
}
