// Fills the two sides of the series section with the same year, and reads it back.
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { shown } from '../figures.ts';
import type { Fleet } from '../fleet.ts';
import { spansOf, Year, yearSensors } from '../load/year.ts';
import type { ServerProcess } from '../server-process.ts';

/** Three such pushes at once stay below the bound of the server's queue. */
const connections = 3;

/** Pushes all arrays, sensor after sensor and span after span. */
export async function fillFleet(
  fleet: Fleet,
  minutes: number,
): Promise<{ readonly sent: number; readonly acknowledged: number; readonly perS: number }> {
  const headers = { authorization: `Bearer ${await fleet.key()}`, 'content-type': 'application/json' };
  const year = new Year();
  const startMs = performance.now();
  for (const span of spansOf(minutes)) {
    let sensor = 0;
    const push = async () => {
      while (sensor < yearSensors) {
        const n = sensor++;
        await fleet.send('POST', `${fleet.sensors[n]}/values`, { headers, body: year.body(n, span) as never });
      }
    };
    await Promise.all(Array.from({ length: connections }, push));
    console.error(`series: ${shown(span.to * yearSensors)} datapoints pushed`);
  }
  const sent = minutes * yearSensors;
  return { sent, acknowledged: sent, perS: (sent * 1000) / (performance.now() - startMs) };
}

export async function fillTable(table: ServerProcess, minutes: number): Promise<void> {
  const call = async (path: string) => Number(await (await fetch(`http://127.0.0.1:${table.httpPort}/${path}`)).text());
  for (const { from, to } of spansOf(minutes)) await call(`load?from=${from}&to=${to}`);
  await call('index');
  const stored = await call('count');
  if (stored !== minutes * yearSensors) throw new Error(`The baseline holds ${stored} rows.`);
}

/** Datapoints of all sensors, whenever they are of, as the server counts them. */
export async function countAll(fleet: Fleet): Promise<number> {
  const headers = { authorization: `Bearer ${await fleet.token()}` };
  let count = 0;
  for (const sensor of fleet.sensors) {
    const answer = await fleet.send('GET', `${sensor}/values?bucket=1y&aggregate=count`, { headers });
    for (const year of (await answer.json()) as { readonly count: number }[]) count += year.count;
  }
  return count;
}

/** Compares the first and the last sensor, value by value. */
export async function readBack(fleet: Fleet, minutes: number): Promise<string[]> {
  const headers = { authorization: `Bearer ${await fleet.token()}` };
  const year = new Year();
  const faults: string[] = [];
  for (const sensor of [0, yearSensors - 1]) {
    const path = `${fleet.sensors[sensor]}/values?format=ndjson&dateTo=2025-12-31T23:59:59Z`;
    const answer = await fleet.send('GET', path, { headers });
    let [read, wrong] = [0, 0];
    for await (const line of createInterface({ input: Readable.fromWeb(answer.body as ReadableStream) })) {
      read += 1;
      if ((JSON.parse(line) as { readonly value: number }).value !== year.next(sensor)) wrong += 1;
    }
    if (read !== minutes || wrong > 0) faults.push(`Sensor ${sensor + 1}: ${read} of ${minutes} read, ${wrong} wrong.`);
  }
  return faults;
}
