// The doors that the overload section floods, and how much at each: from half of what keeps the service busy to ten times that
// and more, as requests that are outstanding at once. Used by sections/overload.ts.
import { shown } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import type { FloodLine, FloodTally } from './flood.ts';
import { openMqttFlood } from './mqtt-flood.ts';
import { pushHead } from './push-head.ts';
import { readingText } from './readings.ts';
import { openRestFlood } from './rest-flood.ts';

export interface Level {
  readonly kind: 'rest' | 'arrays' | 'mqtt' | 'steady';
  readonly name: string;
  /** Datapoints that are outstanding at once; of a steady load, datapoints a second. */
  readonly outstanding: number;
  readonly open: (fleet: Fleet, tally: FloodTally, key: string) => FloodLine[];
}

export interface Door {
  readonly name: string;
  readonly title: string;
  /** Outstanding datapoints that keep the service just busy: what is offered is told as so many times these. */
  readonly busy: number;
  /** By which each sync of the disk is longer, milliseconds. */
  readonly syncMs: number;
  readonly levels: readonly Level[];
}

const arrayDatapoints = 1_000;

const rest = (connections: number, depth = 1): Level => ({
  kind: 'rest',
  name: depth === 1 ? `${shown(connections)} connections` : `${shown(connections)} connections × ${depth}`,
  outstanding: connections * depth,
  open: (fleet, tally, key) => openRestFlood({ ...restOf(fleet, key, 1), connections, depth }, tally),
});

const arrays = (connections: number): Level => ({
  kind: 'arrays',
  name: `${shown(connections)} connections × ${shown(arrayDatapoints)} datapoints`,
  outstanding: connections * arrayDatapoints,
  open: (fleet, tally, key) => openRestFlood({ ...restOf(fleet, key, arrayDatapoints), connections, depth: 1 }, tally),
});

const mqtt = (clients: number, window: number): Level => ({
  kind: 'mqtt',
  name: `${shown(clients)} clients × ${shown(window)}`,
  outstanding: clients * window,
  open: (fleet, tally) => {
    const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
    return openMqttFlood({ port: fleet.server.mqttPort, clients, window, topics, login: Fleet.login }, tally);
  },
});

const steadyConnections = 50;
const steadyWindow = 10_000;

/** So many pushes over REST and publishes over MQTT a second, which go on during the pause. */
const steady = (restPerS: number, mqttPerS: number): Level => ({
  kind: 'steady',
  name: `${shown(restPerS)} pushes and ${shown(mqttPerS)} publishes/s`,
  outstanding: restPerS + mqttPerS,
  open: (fleet, tally, key) => {
    const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
    const of = { port: fleet.server.mqttPort, topics, login: Fleet.login };
    const perS = { rest: restPerS / steadyConnections, mqtt: mqttPerS / steadyConnections };
    return [
      ...openRestFlood({ ...restOf(fleet, key, 1), connections: steadyConnections, depth: 1, perS: perS.rest }, tally),
      ...openMqttFlood({ ...of, clients: steadyConnections, window: steadyWindow, perS: perS.mqtt }, tally),
    ];
  },
});

export const doors: readonly Door[] = [
  {
    name: 'steady',
    title: 'REST and MQTT at fixed rates',
    busy: 25_000,
    syncMs: 0,
    levels: [steady(5_000, 20_000), steady(8_000, 40_000), steady(12_000, 60_000)],
  },
  {
    name: 'rest',
    title: 'REST',
    busy: 200,
    syncMs: 0,
    levels: [rest(100), rest(200), rest(400), rest(1_000), rest(2_000)],
  },
  {
    name: 'pipelined',
    title: 'Pipelined REST',
    busy: 3_200,
    syncMs: 0,
    levels: [rest(100, 16), rest(200, 16), rest(500, 16), rest(2_000, 16), rest(2_000, 100)],
  },
  {
    name: 'arrays',
    title: 'Arrays over REST',
    busy: 10_000,
    syncMs: 0,
    levels: [arrays(5), arrays(10), arrays(20), arrays(50), arrays(100), arrays(200)],
  },
  {
    name: 'mqtt',
    title: 'MQTT',
    busy: 10_000,
    syncMs: 0,
    levels: [mqtt(100, 20), mqtt(100, 100), mqtt(2_000, 20), mqtt(100, 1_000), mqtt(2_000, 100), mqtt(500, 1_000)],
  },
  {
    name: 'mqtt-most',
    title: 'MQTT, two million publishes outstanding',
    busy: 10_000,
    syncMs: 0,
    levels: [mqtt(100, 100), mqtt(2_000, 1_000)],
  },
  ...[5, 50].map((syncMs) => ({
    name: `disk-${syncMs}`,
    title: `A disk whose syncs take ${syncMs} ms longer`,
    busy: 10_000,
    syncMs,
    levels: [rest(2_000), rest(2_000, 16), arrays(20), arrays(100), mqtt(100, 100), mqtt(500, 1_000), mqtt(2_000, 100)],
  })),
];

function restOf(fleet: Fleet, token: string, weight: number) {
  let turn = 0;
  const next = () => {
    const sensor = fleet.sensors[turn++ % fleet.sensors.length] ?? '';
    const body = weight === 1 ? readingText() : `[${Array.from({ length: weight }, () => readingText()).join(',')}]`;
    return pushHead(sensor, { token, length: body.length }) + body;
  };
  return { port: fleet.server.httpPort, weight, next };
}
