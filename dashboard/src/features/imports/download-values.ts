// Fetches the values of a device as a file and hands it to the browser to be saved.
import { ApiProblem } from '../../api/api-problem.ts';
import { fetchWithToken } from '../../api/client.ts';

export interface Download {
  readonly device: string;
  /** Local time as fields give it; empty: without an end. */
  readonly from: string;
  readonly to: string;
  readonly format: string;
  readonly onBytes: (bytes: number) => void;
}

/** The name of the file. @throws ApiProblem */
export async function downloadValues({ device, from, to, format, onBytes }: Download): Promise<string> {
  const query = new URLSearchParams({
    device_id: device.replaceAll('%2C', '%252C').replaceAll(',', '%2C'),
    format,
    ...(from === '' ? {} : { dateFrom: new Date(from).toISOString() }),
    ...(to === '' ? {} : { dateTo: new Date(to).toISOString() }),
  });
  const url = new URL(`/api/v2/sensors_data?${query}`, window.location.origin);
  const answer = await fetchWithToken(new Request(url));
  if (!answer.ok || answer.body === null) throw await ApiProblem.of(answer);
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.length;
      onBytes(bytes);
      controller.enqueue(chunk);
    },
  });
  const blob = await new Response(answer.body.pipeThrough(counter)).blob();
  const name = `${device.replace(/[^\w.-]+/g, '_')}.${format}`;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return name;
}
