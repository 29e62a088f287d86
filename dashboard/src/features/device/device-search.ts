// What of a device's page stands in its address: the tab, the sensors in the chart, and its span.
import { limits } from '../../limits.ts';
import { parseSpan, type SpanSearch } from '../../shared/chart/span.ts';

export const deviceTabs = ['snippets', 'sharing', 'keys', 'alarms', 'drops', 'activity'] as const;
export type DeviceTab = (typeof deviceTabs)[number];

export interface DeviceSearch extends SpanSearch {
  readonly tab?: DeviceTab | undefined;
  readonly chart?: readonly string[] | undefined;
}

export function parseDeviceSearch(raw: Record<string, unknown>): DeviceSearch {
  const chart = raw['chart'];
  const chosen = Array.isArray(chart) ? chart.filter((one) => typeof one === 'string') : undefined;
  return {
    ...parseSpan(raw),
    tab: deviceTabs.find((known) => known === raw['tab']),
    chart: chosen?.slice(0, limits.chartSeriesMax),
  };
}
