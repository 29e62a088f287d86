// Server-sent events over fetch, because EventSource can send no token. Comes back after a break with Last-Event-ID,
// so that what was missed is told first. Used by use-live.ts.
import { limits } from '../limits.ts';
import { fetchWithToken } from './client.ts';
import { plainJson } from './plain-text.ts';

export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Reads a stream until `signal` aborts; `onEvent` hears every event, `onState` whether the stream stands. */
export async function followEvents(
  url: string,
  options: {
    readonly signal: AbortSignal;
    readonly onEvent: (event: StreamEvent) => void;
    readonly onState: (isOpen: boolean) => void;
  },
): Promise<void> {
  const { signal, onEvent, onState } = options;
  let lastId = '';
  let pauseMs: number = limits.streamRetryMsMin;
  while (!signal.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(lastId === '' ? {} : { 'last-event-id': lastId }) };
      const answer = await fetchWithToken(new Request(url, { headers, signal }));
      // What may not be seen, or is gone, does not come by asking again.
      if ([401, 403, 404].includes(answer.status)) return;
      if (answer.ok && answer.body !== null) {
        onState(true);
        pauseMs = limits.streamRetryMsMin;
        for await (const { id, ...event } of eventsOf(answer.body)) {
          lastId = id ?? lastId;
          onEvent(event);
        }
      }
    } catch {
      // The network went away; it is tried again below.
    }
    onState(false);
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, limits.streamRetryMsMax);
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent & { readonly id?: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>;
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== undefined) yield event;
    }
  }
}

function parseBlock(block: string): (StreamEvent & { readonly id?: string }) | undefined {
  const fields = new Map(block.split('\n').map((line) => splitLine(line)));
  const data = fields.get('data');
  if (data === undefined) return undefined;
  const id = fields.get('id');
  return {
    event: fields.get('event') ?? 'message',
    data: JSON.parse(plainJson(data)),
    ...(id === undefined ? {} : { id }),
  };
}

function splitLine(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
