// Bodies of 30 000 datapoints of one sensor, a day each, for us as JSON and for InfluxDB as line protocol. Time moves on
// with every body a sensor gets, as it does for a gateway that was offline; only building them costs the generator.
import type { NextRequest } from './http-load.ts';
import { pushHead } from './push-head.ts';
import { valueText } from './readings.ts';

export const datapointsEach = 30_000;
const stepMs = 86_400_000 / datapointsEach;
const firstDayMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;

/** `T00:00:02.880Z` and so on. */
const times = Array.from({ length: datapointsEach }, (_, n) => new Date(n * stepMs).toISOString().slice(10));

/** The JSON array of the day with this number; the same for all sensors. */
function jsonOfDay(day: number): Buffer {
  const date = new Date(firstDayMs + day * dayMs).toISOString().slice(0, 10);
  const items = times.map((time) => `{"value":${valueText()},"timestamp":"${date}${time}"}`);
  return Buffer.from(`[${items.join(',\n')}]`, 'latin1');
}

const nameStart = 'm,sensor='.length;
const nameLength = 7;

/** The lines of one day, with zeros for the number of the sensor; all of the same length. */
export class LinesOfDay {
  readonly day: number;
  readonly #template: Buffer;

  constructor(day: number) {
    this.day = day;
    const startMs = firstDayMs + day * dayMs;
    const line = (n: number) => `m,sensor=${'0'.repeat(nameLength)} value=${valueText()} ${startMs + n * stepMs}\n`;
    this.#template = Buffer.from(times.map((_, n) => line(n)).join(''), 'latin1');
  }

  /** The lines for the sensor with this number, patched rather than made anew: that would be dearer than to store them. */
  of(sensor: number): Buffer {
    const lines = Buffer.from(this.#template);
    const digits = String(sensor).padStart(nameLength, '0');
    const lineLength = lines.length / datapointsEach;
    for (let i = 0; i < nameLength; i++) {
      const digit = digits.charCodeAt(i);
      for (let at = nameStart + i; at < lines.length; at += lineLength) lines[at] = digit;
    }
    return lines;
  }
}

/** All sensors in turn, day after day. */
export class Days {
  readonly #sensors: number;
  #turn: number;

  constructor(sensors: number, firstDay = 0) {
    this.#sensors = sensors;
    this.#turn = firstDay * sensors;
  }

  next(): { readonly day: number; readonly sensor: number } {
    const turn = this.#turn++;
    return { day: Math.floor(turn / this.#sensors), sensor: turn % this.#sensors };
  }
}

/** Pushes of a day each; goes on where `days` are. */
export function dayPushes(sensors: readonly string[], { token, days }: DayPushes): NextRequest {
  let body = { day: -1, json: Buffer.alloc(0) as Buffer };
  return () => {
    const { day, sensor } = days.next();
    if (day !== body.day) body = { day, json: jsonOfDay(day) };
    return [pushHead(sensors[sensor] as string, { token, length: body.json.length }), body.json];
  };
}

interface DayPushes {
  readonly token: string;
  readonly days: Days;
}
