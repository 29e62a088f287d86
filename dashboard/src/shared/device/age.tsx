// How long ago something was, in words ("3 min ago"), with the absolute time (local and UTC) on hover. Ticks by itself.
import { Tooltip } from '@mantine/core';
import type { FirstStrings } from '../../strings/catalogue.ts';
import { useLocale } from '../../strings/strings.ts';
import { useNow } from '../page/use-now.ts';

export function Age({ at, quiet = false }: { readonly at: string | undefined; readonly quiet?: boolean }) {
  const { tag, strings } = useLocale();
  const nowMs = useNow();
  if (at === undefined) return <span className="d-quiet">{strings.shared.never}</span>;
  const atMs = Date.parse(at);
  return (
    <Tooltip label={absoluteTime(atMs, tag, strings)}>
      <time dateTime={at} className={quiet ? 'd-quiet' : undefined}>
        {ageInWords(nowMs - atMs, tag, strings)}
      </time>
    </Tooltip>
  );
}

const steps = [
  { unit: 'second', ms: 1_000, until: 60 },
  { unit: 'minute', ms: 60_000, until: 60 },
  { unit: 'hour', ms: 3_600_000, until: 24 },
  { unit: 'day', ms: 86_400_000, until: 60 },
  { unit: 'month', ms: 30.44 * 86_400_000, until: 24 },
  { unit: 'year', ms: 365.25 * 86_400_000, until: Number.POSITIVE_INFINITY },
] as const;

/** Negative ages are of the future: "in 3 min". */
function ageInWords(ageMs: number, tag: string, strings: FirstStrings): string {
  const size = Math.abs(ageMs);
  if (size < 10_000) return strings.shared.now;
  const { unit, ms } = steps.find((step) => size < step.ms * step.until) ?? steps[5];
  // Short months are minutes to the eye in French and Spanish, and of the future in Arabic.
  const style = unit === 'month' || unit === 'year' ? 'long' : 'short';
  const format = new Intl.RelativeTimeFormat(tag, { style, numeric: 'always' });
  return format.format(Math.trunc(-ageMs / ms), unit).replaceAll('.', '');
}

/** Local time, and UTC behind it. */
export function absoluteTime(atMs: number, tag: string, strings: FirstStrings): string {
  const local = new Date(atMs).toLocaleString(tag, { dateStyle: 'medium', timeStyle: 'medium' });
  const utc = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
  return `${local} (${strings.shared.shownAt(utc)})`;
}
