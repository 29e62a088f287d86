// What of a sensor's page stands in its address: the span, which other sensors are in the chart, as `device/sensor`, and
// whether values are being chosen.
import { limits } from '../../limits.ts';
import { parseSpan, type SpanSearch } from '../../shared/chart/span.ts';

export interface SensorSearch extends SpanSearch {
  readonly with?: readonly string[] | undefined;
  /** Of what is added up, such as rain: the values as they were measured in place of sums. */
  readonly as?: 'values' | undefined;
  /** Stored values are being chosen, to be deleted or corrected. */
  readonly edit?: true | undefined;
}

export function parseSensorSearch(raw: Record<string, unknown>): SensorSearch {
  const others = Array.isArray(raw['with']) ? raw['with'].filter((one) => typeof one === 'string') : [];
  const known = [...new Set(others)].filter((one) => splitPlace(one) !== undefined).slice(0, limits.chartSeriesMax - 1);
  return {
    ...parseSpan(raw),
    with: known.length === 0 ? undefined : known,
    as: raw['as'] === 'values' ? 'values' : undefined,
    edit: raw['edit'] === true || undefined,
  };
}

/** `field-3/TC`; ids hold no slash. */
export function splitPlace(place: string): { readonly device: string; readonly sensor: string } | undefined {
  const [device = '', sensor = '', ...rest] = place.split('/');
  return device === '' || sensor === '' || rest.length > 0 ? undefined : { device, sensor };
}
