// A notification as the editor holds it, how it is made from a record of the API and how it is sent there. The sentence
// and the expression field are two views of `expression`; where it is simple, `clauses` has its parts.
import type { components } from '../../../api/schema.generated.ts';
import { type Clauses, isFilled, parseClauses, printClauses } from './clauses.ts';

export type Rule = components['schemas']['Notification'];

export interface Draft {
  readonly description: string;
  readonly devices: readonly string[];
  readonly expression: string;
  readonly clauses: Clauses | undefined;
  /** The sensors as they were read, for an expression that cannot be taken apart here. */
  readonly sensors: readonly string[];
  /** Those watched beside the ones the expression names: for their silence. */
  readonly beside: readonly string[];
  readonly forS: number | undefined;
  readonly silenceS: number | undefined;
  readonly hysteresis: string | undefined;
  readonly kind: 'message' | 'actuation';
  readonly usernames: readonly string[];
  readonly channels: readonly string[];
  readonly message: string;
  readonly recoveryMessage: string | undefined;
  readonly actuatorDevice: string;
  readonly actuator: string;
  /** JSON, or a text that is none. */
  readonly actuatorValue: string;
  readonly throttlingS: number;
  /** Local time as an input of the browser has it; undefined: never. */
  readonly expires: string | undefined;
}

interface Given {
  readonly device?: string | undefined;
  readonly sensor?: string | undefined;
  readonly me: string;
  /** By which messages go at first. */
  readonly channel: string;
}

export function newDraft({ device, sensor = '', me, channel }: Given): Draft {
  const clauses: Clauses = { join: 'and', list: [{ sensor, operator: '<', value: '', upper: '' }] };
  return {
    ...{ description: '', devices: device === undefined ? [] : [device], expression: '', clauses },
    ...{ sensors: [], beside: [], forS: undefined, silenceS: undefined, hysteresis: undefined, kind: 'message' },
    ...{ usernames: me === 'guest' ? [] : [me], channels: [channel] },
    ...{ message: '{device}: {value} {unit}', recoveryMessage: undefined },
    ...{ actuatorDevice: device ?? '', actuator: '', actuatorValue: 'true' },
    ...{ throttlingS: 3_600, expires: undefined },
  };
}

interface Message {
  readonly usernames?: readonly string[];
  readonly channels?: readonly string[];
  readonly message?: string;
}
interface Actuation {
  readonly device_id?: string;
  readonly actuator_id?: string;
  readonly actuator_value?: unknown;
}

/** What a rule does, whichever way it was written. */
export function actionOf(rule: Rule): { readonly message?: Message; readonly actuation?: Actuation } {
  const action = rule.action as { readonly type?: string; readonly value?: object };
  if (action.type === 'ActuationAction') return { actuation: action.value as Actuation };
  return { message: (action.type === undefined ? action : action.value) as Message };
}

export function toDraft(rule: Rule): Draft {
  const { message, actuation } = actionOf(rule);
  const expression = rule.condition.expression ?? '';
  const clauses = parseClauses(expression);
  const sensors = rule.condition.sensors ?? [];
  const { actuator_value: value } = actuation ?? {};
  return {
    description: rule.description ?? '',
    devices: rule.condition.devices ?? [],
    expression,
    clauses,
    sensors,
    beside: sensors.filter((id) => !namedIn({ clauses, sensors, expression }).includes(id)),
    forS: rule.for,
    silenceS: rule.silence,
    hysteresis: rule.hysteresis,
    kind: actuation === undefined ? 'message' : 'actuation',
    usernames: message?.usernames ?? [],
    channels: message?.channels ?? [],
    message: message?.message ?? '',
    recoveryMessage: rule.recovery_message,
    actuatorDevice: actuation?.device_id ?? '',
    actuator: actuation?.actuator_id ?? '',
    actuatorValue: typeof value === 'string' ? value : JSON.stringify(value ?? true),
    throttlingS: rule.throttling,
    expires: rule.expires === undefined ? undefined : toLocal(rule.expires),
  };
}

/** Both views after a change in the sentence. */
export function withClauses(clauses: Clauses): Pick<Draft, 'clauses' | 'expression'> {
  return { clauses, expression: isFilled(clauses) ? printClauses(clauses) : '' };
}

/** Both views after a change in the expression field. */
export function withExpression(expression: string): Pick<Draft, 'clauses' | 'expression'> {
  return { expression, clauses: parseClauses(expression) };
}

/** The sensors the rule watches. */
export function sensorsOf(draft: Draft): readonly string[] {
  return [...new Set([...namedIn(draft), ...draft.beside])].filter((id) => id !== '');
}

function namedIn({ clauses, sensors, expression }: Pick<Draft, 'clauses' | 'sensors' | 'expression'>) {
  if (clauses === undefined) return sensors.filter((id) => expression.includes(id));
  return clauses.list.map(({ sensor }) => sensor);
}

/** Whether it can be tried and sent; what is wrong with it beyond that the server says. */
export function isReady(draft: Draft): boolean {
  const { clauses, silenceS, devices } = draft;
  if (devices.length === 0 || (clauses !== undefined && !isFilled(clauses))) return false;
  const isAboutNothing = clauses?.list.length === 0;
  return !isAboutNothing || (silenceS !== undefined && sensorsOf(draft).length > 0);
}

/** The fields as POST takes them; for PATCH, those that are not there are null, so that they are taken away. */
export function toBody(draft: Draft, { isPatch }: { readonly isPatch: boolean }): Record<string, unknown> {
  const { expression, devices, forS, silenceS, hysteresis, recoveryMessage, description, throttlingS, expires } = draft;
  const isMessage = draft.kind === 'message';
  const fields = {
    description: description.trim() === '' ? undefined : description.trim(),
    condition: { devices, sensors: sensorsOf(draft), expression },
    action: isMessage ? messageOf(draft) : actuationOf(draft),
    throttling: throttlingS,
    for: forS,
    silence: silenceS,
    hysteresis: hysteresis?.trim() === '' ? undefined : hysteresis,
    recovery_message: isMessage && recoveryMessage?.trim() !== '' ? recoveryMessage : undefined,
    expires: expires === undefined || expires === '' ? undefined : new Date(expires).toISOString(),
  };
  const entries = Object.entries(fields);
  if (isPatch) return Object.fromEntries(entries.map(([name, value]) => [name, value ?? null]));
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** What is tried on the past: the rule without what time and people have to do with it. */
export function toDryRun(draft: Draft): Record<string, unknown> {
  const { description: _, expires: __, ...body } = toBody(draft, { isPatch: false });
  return body;
}

function messageOf({ usernames, channels, message }: Draft): object {
  return { usernames, channels, message };
}

function actuationOf({ actuatorDevice: device_id, actuator: actuator_id, actuatorValue }: Draft): object {
  return { type: 'ActuationAction', value: { device_id, actuator_id, actuator_value: parseValue(actuatorValue) } };
}

function parseValue(typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}

const fields: readonly (readonly [pointer: RegExp, field: keyof Draft])[] = [
  [/^\/condition\/(expression|sensors)/, 'expression'],
  [/^\/condition\/devices/, 'devices'],
  [/^\/action(\/value)?\/usernames/, 'usernames'],
  [/^\/action(\/value)?\/channels/, 'channels'],
  [/^\/action(\/value)?\/message/, 'message'],
  [/^\/action\/value/, 'actuator'],
  [/^\/hysteresis/, 'hysteresis'],
  [/^\/for/, 'forS'],
  [/^\/silence/, 'silenceS'],
  [/^\/recovery_message/, 'recoveryMessage'],
  [/^\/throttling/, 'throttlingS'],
  [/^\/expires/, 'expires'],
  [/^\/description/, 'description'],
];

/** The field of the editor that a pointer of the server's refusal names. */
export function fieldOf(pointer: string): keyof Draft | undefined {
  return fields.find(([pattern]) => pattern.test(pointer))?.[1];
}

/** A time of the API as an input of the browser takes it. */
function toLocal(timestamp: string): string {
  const at = new Date(timestamp);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
