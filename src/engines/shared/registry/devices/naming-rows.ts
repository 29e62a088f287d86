// API keys, rules and projects of a device's owner that name the device by its id: replaces the id when the device gets another.
// The caller bounds their number, because they are written in the same commit.
import { type RawBuilder, sql } from 'kysely';
import type { DeviceId } from '../../../../domain/devices/device.ts';
import type { NotificationId } from '../../../../domain/notifications/rules/notification.ts';
import type { SqlDialect } from '../sql-dialect.ts';

/** A row whose text may name the device. */
export interface NamingRow {
  readonly kind: 'key' | 'rule' | 'project';
  readonly key: number;
  readonly id: string;
  /** JSON: the list of devices; of a rule, its condition. */
  readonly text: string;
  /** JSON: the action of a rule. */
  readonly action: string | null;
}

interface Change {
  readonly row: NamingRow;
  readonly text: string;
  readonly action: string | null;
}

type Names = { readonly from: DeviceId; readonly to: DeviceId };

export class NamingRows {
  readonly #changes: readonly Change[];
  readonly #names: Names;
  /** Ids in the projects that are changed: each has a row in an index. */
  readonly projectIds: number;

  constructor(rows: readonly NamingRow[], names: Names) {
    this.#names = names;
    this.#changes = rows.flatMap((row) => changeOf(row, names) ?? []);
    const projects = this.#changes.filter(({ row }) => row.kind === 'project');
    this.projectIds = projects.reduce((sum, { text }) => sum + (JSON.parse(text) as unknown[]).length, 0);
  }

  /** The rules that are changed. */
  get rules(): readonly NotificationId[] {
    return this.#changes.filter(({ row }) => row.kind === 'rule').map(({ row }) => row.id);
  }

  /** Each changes only texts that are as they were read. */
  statements({ rows }: SqlDialect, mayBe: RawBuilder<unknown>): RawBuilder<unknown>[] {
    const of = (kind: NamingRow['kind']) => this.#changes.filter(({ row }) => row.kind === kind);
    const texts = { key: 'integer', before: 'text', text: 'text' } as const;
    // The columns that SQL writes are those whose text changes: a trigger on a column does not look whether it does.
    const set = (
      table: 'api_key' | 'project' | 'notification',
      column: 'devices' | 'device_ids' | 'condition' | 'action',
      entries: readonly (readonly [key: number, before: string, text: string])[],
    ) => {
      const changed = entries.filter(([, before, text]) => before !== text);
      return changed.length === 0
        ? []
        : [
            sql`UPDATE ${sql.table(table)} SET ${sql.ref(column)} = entry.text FROM ${rows(sql`${JSON.stringify(changed)}`, texts)} AS entry
              WHERE ${sql.ref(`${table}.key`)} = entry.key AND ${sql.ref(`${table}.${column}`)} = entry.before AND ${mayBe}`,
          ];
    };
    const textsOf = (kind: NamingRow['kind']) => of(kind).map(({ row, text }) => [row.key, row.text, text] as const);
    const actions = of('rule').flatMap(({ row, action }) =>
      row.action === null || action === null ? [] : [[row.key, row.action, action] as const],
    );
    return [
      ...set('api_key', 'devices', textsOf('key')),
      ...set('project', 'device_ids', textsOf('project')),
      ...set('notification', 'condition', textsOf('rule')),
      ...set('notification', 'action', actions),
      ...this.#memories(mayBe),
    ];
  }

  #memories(mayBe: RawBuilder<unknown>): RawBuilder<unknown>[] {
    const keys = this.#changes.filter(({ row }) => row.kind === 'rule').map(({ row }) => row.key);
    if (keys.length === 0) return [];
    const { from, to } = this.#names;
    const ofThese = sql`notification IN (${sql.join(keys)}) AND ${mayBe}`;
    return [
      // What a rule remembers of a device that is gone must not be taken for this one's.
      sql`DELETE FROM notification_memory WHERE device = ${to} AND ${ofThese}`,
      sql`UPDATE notification_memory SET device = ${to} WHERE device = ${from} AND ${ofThese}`,
    ];
  }
}

function changeOf(row: NamingRow, names: Names): Change | undefined {
  const text = row.kind === 'rule' ? conditionWith(row.text, names) : listWith(row.text, names);
  const action = row.action === null ? null : actionWith(row.action, names);
  return text === row.text && action === row.action ? undefined : { row, text, action };
}

/** The list of ids with the old id replaced by the new one; the same text where it does not contain the old id. */
function listWith(json: string, names: Names): string {
  const list = parsed(json);
  return Array.isArray(list) && list.includes(names.from) ? JSON.stringify(renamedIn(list, names)) : json;
}

function renamedIn(list: readonly unknown[], { from, to }: Names): unknown[] {
  return [...new Set(list.map((id) => (id === from ? to : id)))];
}

function conditionWith(json: string, names: Names): string {
  const condition = parsed(json);
  if (!isObject(condition)) return json;
  const { devices } = condition;
  if (!Array.isArray(devices) || !devices.includes(names.from)) return json;
  return JSON.stringify({ ...condition, devices: renamedIn(devices, names) });
}

/** The device of an actuation stands flat in the action, or in its `value` (contract 7). */
function actionWith(json: string, { from, to }: Names): string {
  const action = parsed(json);
  if (!isObject(action) || action['type'] !== 'ActuationAction') return json;
  const { value } = action;
  if (action['device_id'] === from) return JSON.stringify({ ...action, device_id: to });
  if (isObject(value) && value['device_id'] === from)
    return JSON.stringify({ ...action, value: { ...value, device_id: to } });
  return json;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text that is damaged names nothing; `dundun check` tells of it. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
