// Where the frames of a WebSocket begin and end [RFC 6455, 5.2], seen in the bytes on their way to ws, which says nothing of a
// message before it is whole. What is wrong with a frame is for ws to find. Used by websocket-socket.ts for each connection.

/** The longest head: two bytes, a length of eight, a mask. */
const headBytesMax = 14;
/** Control frames stand between those of a message. */
const firstControl = 8;

export class WebSocketFrames {
  readonly #head = Buffer.allocUnsafeSlow(headBytesMax);
  #headBytes = 0;
  /** Of the payload of the frame whose head is whole. */
  #left = 0;
  #payload = 0;
  #isHeadWhole = false;
  /** Of the frame that is not whole, with its head. */
  #frameBytes = 0;
  /** Payloads of the whole frames of a message that is not. */
  #messageBytes = 0;

  /** Bytes of a message, or frame, that has begun and is not whole. */
  get begun(): number {
    return this.#messageBytes + this.#frameBytes;
  }

  /** Takes the next bytes. */
  take(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (!this.#isHeadWhole) {
        this.#head[this.#headBytes++] = bytes[at++] as number;
        this.#frameBytes += 1;
        if (this.#headBytes < this.#headLength()) continue;
        this.#isHeadWhole = true;
        this.#payload = this.#payloadLength();
        this.#left = this.#payload;
      }
      const taken = Math.min(this.#left, bytes.length - at);
      at += taken;
      this.#left -= taken;
      this.#frameBytes += taken;
      if (this.#left === 0) this.#endFrame();
    }
  }

  #headLength(): number {
    if (this.#headBytes < 2) return 2;
    const second = this.#head[1] as number;
    const length = second & 0x7f;
    return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0);
  }

  #payloadLength(): number {
    const length = (this.#head[1] as number) & 0x7f;
    if (length === 126) return this.#head.readUInt16BE(2);
    return length === 127 ? Number(this.#head.readBigUInt64BE(2)) : length;
  }

  #endFrame(): void {
    const first = this.#head[0] as number;
    const isFinal = (first & 0x80) !== 0;
    if ((first & 0x0f) < firstControl) this.#messageBytes = isFinal ? 0 : this.#messageBytes + this.#payload;
    this.#headBytes = 0;
    this.#frameBytes = 0;
    this.#isHeadWhole = false;
  }
}
