// Calls the service during an attack as an ordinary user does: health, pushes over REST and MQTT, publishes that a
// subscriber must hear, reads over new connections, sign-ins; and the bare server at the same pace. Runs in its own thread,
// so that the attacker's work does not delay it. Each kind of probe sends its next request shortly after the answer of the
// one before. Started by prober.ts.
import { Agent, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';
import { connectAsync } from 'mqtt';
import type { ProbeKind, ProbeOrder, ProbeReport } from './prober.ts';

const order = workerData as ProbeOrder;
const { http, mqtt, control, key, device } = order;
const ca = order.ca === undefined ? undefined : [...order.ca];
const reports: Partial<Record<ProbeKind, { longestMs: number; count: number; refused: string[] }>> = {};
const answerMsMax = 60_000;
let isOver = false;

function call(options: {
  readonly port: number;
  readonly path: string;
  readonly agent: Agent | false;
  readonly body?: string;
  readonly key?: string;
}): Promise<number> {
  const { port, path, agent, body, key } = options;
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const where = { host: '127.0.0.1', port, path, method, agent, headers, timeout: answerMsMax };
    const sent = ca !== undefined && port === http ? requestTls({ ...where, ca }) : requestPlain(where);
    sent.on('response', (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
      answer.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error) => {
      // A kept connection may be closed by the server just as it is used again: HTTP has the client send it anew.
      if (sent.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET') {
        call(options).then(resolve, reject);
      } else reject(error);
    });
    sent.end(body);
  });
}

/** Resolves when the subscriber gets this payload; waits no longer than for any answer. */
function hears(payload: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer);
      subscriber.off('message', take);
      settle();
    };
    const take = (_: string, bytes: Buffer) => {
      if (String(bytes) === payload) end(resolve);
    };
    const timer = setTimeout(() => end(() => reject(new Error('not heard'))), answerMsMax);
    subscriber.on('message', take);
  });
}

async function probe(kind: ProbeKind, everyMs: number, send: () => Promise<number>): Promise<void> {
  while (!isOver) {
    // Of this request's beginning: what began before measuring began is not counted.
    reports[kind] ??= { longestMs: 0, count: 0, refused: [] };
    const report = reports[kind];
    const beganMs = performance.now();
    try {
      const status = await send();
      if (status >= 400) report.refused.push(String(status));
    } catch (error) {
      if (isOver) return;
      report.refused.push((error as Error).message);
    }
    report.longestMs = Math.max(report.longestMs, performance.now() - beganMs);
    report.count += 1;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

const kept = (port: number) => {
  const options = { keepAlive: true, maxSockets: 1 };
  return ca !== undefined && port === http ? new TlsAgent(options) : new Agent(options);
};
const values = `/api/v2/devices/${device}/sensors/s/values`;
const body = '{"value":1.5}';
const [health, push, bareGet, bareWrite] = [kept(http), kept(http), kept(control), kept(control)];
const signedIn = { username: '', password: key, reconnectPeriod: 0 };
const client = await connectAsync(`mqtt://127.0.0.1:${mqtt}`, signedIn);
const subscriber = await connectAsync(`mqtt://127.0.0.1:${mqtt}`, signedIn);
const heardTopic = `devices/${device}/sensors/heard/value`;
await subscriber.subscribeAsync(heardTopic);
let cut: Error | undefined;
let tellCut: (error: Error) => void = () => {};
const isCut = new Promise<never>((_, reject) => {
  tellCut = reject;
});
isCut.catch(() => {});
const onCut = (error = new Error('the connection was cut')) => {
  cut ??= error;
  tellCut(cut);
};
for (const each of [client, subscriber]) each.on('error', onCut).on('close', () => onCut());
let said = 0;
let people = 0;
const probes = [
  probe('health', 20, () => call({ port: http, path: '/health/live', agent: health })),
  probe('push', 20, () => call({ port: http, path: values, agent: push, body, key })),
  probe('bare get', 20, () => call({ port: control, path: '/', agent: bareGet })),
  probe('bare write', 20, () => call({ port: control, path: '/', agent: bareWrite, body })),
  probe('read', 200, () => call({ port: http, path: `/api/v2/devices/${device}`, agent: false, key })),
  probe('publish', 20, async () => {
    // The client never settles what was under way when its connection was cut.
    await Promise.race([client.publishAsync(`devices/${device}/sensors/s/value`, body, { qos: 1 }), isCut]);
    return 204;
  }),
  probe('hear', 20, async () => {
    said += 1;
    const payload = `{"value":${said}}`;
    const both = Promise.all([hears(payload), client.publishAsync(heardTopic, payload, { qos: 1 })]);
    await Promise.race([both, isCut]);
    return 204;
  }),
  probe('sign in', 500, () => {
    people = (people + 1) % order.people.length;
    const login = { username: order.people[people], password: order.password };
    return call({ port: http, path: '/api/v2/auth/token', agent: false, body: JSON.stringify(login) });
  }),
];
parentPort?.postMessage('begun');
parentPort?.on('message', (word: 'measure' | 'stop') => {
  if (word === 'measure') {
    for (const kind of Object.keys(reports) as ProbeKind[]) delete reports[kind];
    return;
  }
  isOver = true;
  void Promise.all(probes).then(() => {
    for (const each of [client, subscriber]) each.end(true);
    for (const agent of [health, push, bareGet, bareWrite]) agent.destroy();
    parentPort?.postMessage(reports as ProbeReport);
  });
});
