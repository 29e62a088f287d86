// Fetches the values of a device as a file and hands it to the browser to be saved.
import { download } from '../../api/download.ts';

export interface DownloadedValues {
  readonly device: string;
  /** Local time as fields give it; empty: without an end. */
  readonly from: string;
  readonly to: string;
  readonly format: string;
  readonly onBytes: (bytes: number) => void;
}

/** The name of the file. @throws ApiProblem */
export function downloadValues({ device, from, to, format, onBytes }: DownloadedValues): Promise<string> {
  const query = new URLSearchParams({
    device_id: device.replaceAll('%2C', '%252C').replaceAll(',', '%2C'),
    format,
    ...(from === '' ? {} : { dateFrom: new Date(from).toISOString() }),
    ...(to === '' ? {} : { dateTo: new Date(to).toISOString() }),
  });
  const name = `${device.replace(/[^\w.-]+/g, '_')}.${format}`;
  return download({ path: `/api/v2/sensors_data?${query}`, name, onBytes });
}
