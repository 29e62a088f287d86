// The first request of a connection where it is a usual push. Node.js's parser has to see one, because Node.js cuts connections
// that never send it a request; the framework, which would take many times as long, does not: after a restart thousands of
// clients come back with a push at once. Answered after its commit (I1). Used by push-connection.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { PushGroup, PushHandler } from './push-handler.ts';

export class FirstPush {
  readonly #group: PushGroup;
  readonly #handler: PushHandler;
  readonly #socket: Socket;
  /** True from when Node.js has parsed it until its commit. */
  isStoring = false;

  constructor(group: PushGroup, handler: PushHandler, socket: Socket) {
    this.#group = group;
    this.#handler = handler;
    this.#socket = socket;
  }

  /** Stores the push, whose request Node.js has parsed, and answers it; the framework does where that fails. */
  answer(response: ServerResponse, toFramework: () => void): void {
    this.isStoring = true;
    const stored = this.#handler.store(this.#group, (error) => {
      this.isStoring = false;
      if (this.#socket.destroyed) return;
      // Nothing was stored: the framework tries again, and reports the reason if it fails.
      if (error !== undefined) toFramework();
      else this.#handler.answerFirst(this.#group, response);
    });
    if (stored !== 'busy') return;
    this.isStoring = false;
    toFramework();
  }
}
