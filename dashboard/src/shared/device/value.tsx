// A value as people read it: the number large, in the figures of the language, its unit small beside it; whatever is no
// number as text. A value is a stranger's word, so it is only ever put in as text.
import { plainText } from '../../api/plain-text.ts';
import { useLocale } from '../../strings/strings.ts';
import { type Calib, decimalsOf } from './precision.ts';
import classes from './value.module.css';

export interface ValueProps {
  /** Any JSON; undefined where there is none yet. */
  readonly value: unknown;
  readonly unit?: string | undefined;
  readonly size?: 'row' | 'tile' | 'page';
  /** Of the sensor that it is of: a calibrated value has no more digits than the sensor gives. */
  readonly calib?: Calib | undefined;
}

export function Value({ value, unit, size = 'row', calib }: ValueProps) {
  const { tag, strings } = useLocale();
  if (value === undefined) return <span className={classes.none}>{strings.shared.noValue}</span>;
  const isNumber = typeof value === 'number';
  // What may be cut short can be read whole.
  const title = isNumber ? (isLongUnit(unit) ? unit : undefined) : textOf(value);
  return (
    <span className={classes.value} data-size={size} title={title}>
      <span className={isNumber ? classes.number : classes.text}>{formatValue(value, tag, calib)}</span>
      {unit !== undefined && unit !== '' && <span className={classes.unit}>{unit}</span>}
    </span>
  );
}

/** A word, such as "DegreeCelsius", not a sign: where there is little room it is left to a title or to a place of its own. */
export function isLongUnit(unit = ''): boolean {
  return unit.length > 6;
}

/** As text, for where no element can stand: titles, charts, messages. */
export function formatValue(value: unknown, tag: string, calib?: Calib): string {
  return typeof value === 'number' ? formatNumber(value, tag, decimalsOf(value, calib)) : textOf(value);
}

/** With so many decimals at most. */
export function formatNumber(value: number, tag: string, decimalsMax?: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(3);
  return formatOf(tag).format(decimalsMax === undefined ? value : Number(value.toFixed(Math.min(decimalsMax, 20))));
}

const formats = new Map<string, Intl.NumberFormat>();

function formatOf(tag: string): Intl.NumberFormat {
  const known = formats.get(tag);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat(tag, { maximumSignificantDigits: 6 });
  formats.set(tag, format);
  return format;
}

function textOf(value: unknown): string {
  return plainText(typeof value === 'string' ? value : JSON.stringify(value));
}
