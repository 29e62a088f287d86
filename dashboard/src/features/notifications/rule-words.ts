// A notification as one sentence, for its row in the list.

import type { Device } from '../../api/client.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { isolated } from '../../strings/isolated.ts';
import { arrow, listed } from '../../strings/listed.ts';
import { type Clause, parseClauses } from './editor/clauses.ts';
import { actionOf, type Rule } from './editor/draft.ts';
import { durationWords } from './editor/duration.tsx';
import type { Channel } from './editor/tell.tsx';

interface Knows {
  /** The devices that are at hand, for their names and those of their sensors. */
  readonly known: readonly Device[];
  /** Who reads it. */
  readonly me: string;
}

export function ruleWords(rule: Rule, strings: Strings, { known, me }: Knows): string {
  const { notifications: words } = strings;
  const about = known.filter(({ id }) => rule.condition.devices?.includes(id) === true);
  const nameOf = (device: string) => isolated(about.find(({ id }) => id === device)?.name || device);
  const sensorName = (sensor: string) => nameOfSensor(sensor, about);
  const { devices = [], sensors = [], expression = '' } = rule.condition;
  const clauses = parseClauses(expression);
  const of = devices.length > 2 ? words.devicesCount(devices.length) : listed(devices.map(nameOf));
  const isSilenceAlone = clauses?.list.length === 0 && rule.silence !== undefined;
  const when = isSilenceAlone
    ? `${listed(sensors.map(sensorName))} ${words.hasSentNothing} ${durationWords(rule.silence ?? 0, strings)}`
    : (clauses?.list.map((clause) => clauseWords(clause, strings, sensorName)).join(` ${words[clauses.join]} `) ??
      expression);
  const forLong = rule.for === undefined ? '' : ` ${words.forAtLeast} ${durationWords(rule.for, strings)}`;
  return `${strings.shared.labelled(of, `${when}${forLong}`)} ${arrow()} ${effectWords(rule, strings, me)}`;
}

/** A number as people write it; a text as it is. */
function figure(value: string, { shared }: Strings): string {
  return /^[+-]?\d*\.\d+(e[+-]?\d+)?$/i.test(value) ? value.replace('.', shared.decimal) : value;
}

/** The name that all of the devices have for it; where they differ, its id. */
function nameOfSensor(sensor: string, devices: readonly Device[]): string {
  const names = new Set(devices.map(({ sensors }) => sensors.find(({ id }) => id === sensor)?.name));
  const [name] = names;
  return isolated(names.size === 1 && name !== undefined && name !== '' ? name : sensor);
}

function clauseWords(
  { sensor, operator, value, upper }: Clause,
  strings: Strings,
  sensorName: (id: string) => string,
): string {
  const { notifications: words } = strings;
  const [from, until] = [figure(value, strings), figure(upper, strings)];
  const to = upper === '' ? from : `${from} ${words.and} ${until}`;
  return `${sensorName(sensor)} ${words.operators[operator]} ${to}`.trim();
}

function effectWords(rule: Rule, { notifications: words }: Strings, me: string): string {
  const { message, actuation } = actionOf(rule);
  if (message === undefined) return `${actuation?.actuator_id ?? ''} = ${JSON.stringify(actuation?.actuator_value)}`;
  const people = (message.usernames ?? []).map((name) => (name === me ? words.me : isolated(name)));
  const ways = (message.channels ?? []).map((way) => words.channels[way as Channel] ?? way);
  return [listed(people), listed(ways)].filter((part) => part !== '').join(` ${words.by} `);
}
