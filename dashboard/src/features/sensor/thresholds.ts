// The rules on a sensor that the user may see, as lines at their thresholds, and their firings as marks.

import { useQueries, useQuery } from '@tanstack/react-query';
import { deviceAlarmsQuery } from '../../api/alarms.ts';
import { api, call } from '../../api/client.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import type { ChartLine } from '../../shared/chart/chart-series.ts';

export interface SensorRule {
  readonly id: string;
  readonly title: string;
  readonly expression: string;
  /** Whether it watches other devices too. */
  readonly isShared: boolean;
}

export interface Thresholds {
  readonly rules: readonly SensorRule[];
  readonly lines: readonly ChartLine[];
  readonly firingsMs: readonly number[];
}

export function useThresholds(device: string, sensor: string): Thresholds {
  const isUser = useSession().status === 'user';
  const query = { q: `condition.devices==${filterValue(device)}`, limit: limits.chartRulesMax, offset: 0 };
  const { data: all = [] } = useQuery({
    queryKey: keys.notificationList(query),
    enabled: isUser,
    queryFn: () => call(api.GET('/api/v2/notifications', { params: { query } })),
  });
  const rules = all
    .filter(({ condition: { devices = [], sensors = [] } }) => devices.includes(device) && sensors.includes(sensor))
    .map(({ id, description, condition: { expression = '', devices = [] } }) => {
      return { id, title: description || expression, expression, isShared: devices.length > 1 };
    });
  // Messages do not say of which device they are: of a rule on several, its alarms of this device tell when it fired here.
  const shared = new Set(rules.filter(({ isShared }) => isShared).map(({ id }) => id));
  const answers = useQueries({ queries: rules.filter(({ id }) => !shared.has(id)).map(({ id }) => firingsQuery(id)) });
  const alarms = useQuery({ ...deviceAlarmsQuery(device, 'all'), enabled: isUser && shared.size > 0 }).data?.page ?? [];
  const begunMs = alarms
    .filter(({ notification_id: rule = '' }) => shared.has(rule))
    .map(({ since }) => Date.parse(since));
  return {
    rules,
    lines: rules.flatMap((rule) =>
      thresholdsOf(rule.expression, sensor).map((value) => ({ value, label: rule.title })),
    ),
    firingsMs: [...new Set([...answers.flatMap(({ data }) => data ?? []), ...begunMs])].sort((a, b) => a - b),
  };
}

function firingsQuery(rule: string) {
  return {
    queryKey: [...keys.notification(rule), 'firings'],
    queryFn: async (): Promise<readonly number[]> => {
      const query = { q: `notification==${rule}`, limit: limits.chartFiringsMax, offset: 0 };
      const messages = await call(api.GET('/api/v2/socials', { params: { query } }));
      return messages.map(({ timestamp }) => Date.parse(timestamp));
    },
  };
}

const number = String.raw`-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?`;

/** The numbers a sensor is compared with: `TC<40`, `"TC">=4.5`, `TC==10..30`. */
function thresholdsOf(expression: string, sensor: string): number[] {
  const id = sensor.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const compared = new RegExp(
    `(?:^|[;&|(\\s])["']?${id}["']?\\s*(?:<=|>=|==|!=|<|>)\\s*(${number})(?:\\.\\.(${number}))?`,
    'g',
  );
  const found = [...expression.matchAll(compared)].flatMap(([, from, to]) => (to === undefined ? [from] : [from, to]));
  return [...new Set(found.map(Number))];
}
