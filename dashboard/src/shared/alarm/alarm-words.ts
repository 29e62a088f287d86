// What an alarm says, in a sentence. Whatever a stranger has named is put in as text.
import type { Alarm } from '../../api/alarms.ts';
import type { Locale } from '../../strings/strings.ts';
import { formatNumber, formatValue } from '../device/value.tsx';
import { storageWords } from '../service-reason.ts';

export function alarmTitle(alarm: Alarm, { strings, tag }: Pick<Locale, 'strings' | 'tag'>): string {
  const { now } = strings;
  const device = alarm.device_name || alarm.device_id || '';
  const sensor = alarm.sensor_name || alarm.sensor_id || '';
  if (alarm.kind === 'storage') return now.storageRefuses;
  if (alarm.kind === 'gateway') return now.gatewayOffline(alarm.gateway_name || alarm.gateway_id || '');
  if (alarm.kind === 'silence') return now.isSilent(sensor, device);
  if (alarm.value === undefined || alarm.condition === undefined) return now.isSilent(sensor, device);
  return now.hasValue(sensor, device, `${formatValue(alarm.value, tag)}\u00a0${alarm.unit ?? ''}`.trim());
}

/** With what the value was compared, or what is usual. */
export function alarmReason(alarm: Alarm, { strings, tag }: Pick<Locale, 'strings' | 'tag'>): string | undefined {
  const { now } = strings;
  const { kind, condition, threshold, usual_interval: usualS } = alarm;
  if (kind === 'storage') return condition === undefined ? undefined : storageWords(condition, strings);
  if (kind === 'silence' && usualS !== undefined) return now.usually(durationText(usualS, tag));
  if (kind !== 'rule' && kind !== 'gateway') return undefined;
  if (condition === undefined) return threshold === undefined ? undefined : now.quietFor(durationText(threshold, tag));
  return threshold === undefined ? condition : now.threshold(formatNumber(threshold, tag), condition);
}

const units = [
  { unit: 'day', seconds: 86_400 },
  { unit: 'hour', seconds: 3_600 },
  { unit: 'minute', seconds: 60 },
  { unit: 'second', seconds: 1 },
] as const;

function durationText(seconds: number, tag: string): string {
  const { unit, seconds: size } = units.find((one) => seconds >= one.seconds) ?? units[3];
  const count = Math.round((seconds / size) * 10) / 10;
  return new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 1 }).format(
    count,
  );
}
