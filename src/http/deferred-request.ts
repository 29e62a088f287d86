// A request whose body can be taken in before it is decided who answers: the class of all requests of the server. Used by
// push-lane.ts; whoever else gets the request finds it as any other.
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Gets a body when it is there, whole. */
type Taker = (body: Buffer) => void;

const nothing = Buffer.alloc(0);

export class DeferredRequest extends IncomingMessage {
  #taker: Taker | undefined;
  #body: Buffer | undefined;

  // The parser gives it one.
  constructor(socket: Socket) {
    super(socket);
    this.#taker = undefined;
    this.#body = undefined;
  }

  /** Has the body given to `taker` in place of those who read the stream; to be called while its headers are looked at. */
  takeBody(taker: Taker): void {
    this.#taker = taker;
    // Else the answer would have the stream emptied, which costs as much as reading it.
    (this as { _consuming?: boolean })._consuming = true;
  }

  /** Makes the request what it would be had nobody taken its body. */
  giveBack(): void {
    const body = this.#body;
    this.#body = undefined;
    (this as { _consuming?: boolean })._consuming = false;
    if (body !== undefined) super.push(body);
    super.push(null);
  }

  /** Called by the parser, for each piece of the body and with null at its end. */
  override push(piece: Buffer | null): boolean {
    const taker = this.#taker;
    if (taker === undefined) return super.push(piece);
    if (piece !== null) {
      this.#body = this.#body === undefined ? piece : Buffer.concat([this.#body, piece]);
      return true;
    }
    this.#taker = undefined;
    taker(this.#body ?? nothing);
    return false;
  }
}
