// One question at a time over a kept connection, timed from asking to the last byte.
import { Agent, request } from 'node:http';

export class HttpAsk {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(port: number, headers: Readonly<Record<string, string>> = {}) {
    this.#port = port;
    this.#headers = headers;
  }

  /** Milliseconds that the answer took. @throws Error when it is no success. */
  time(path: string): Promise<number> {
    const startMs = performance.now();
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, path, headers: this.#headers, agent: this.#agent };
      const asked = request(options, (response) => {
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - startMs);
          else reject(new Error(`GET ${path}: ${response.statusCode}`));
        });
        response.on('error', reject);
        response.resume();
      });
      asked.on('error', reject);
      asked.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
