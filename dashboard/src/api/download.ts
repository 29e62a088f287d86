// Fetches a file from the API and hands it to the browser to be saved. The browser keeps what is large on its disk.
import { ApiProblem } from './api-problem.ts';
import { fetchWithToken } from './client.ts';

export interface Download {
  /** The path with its query. */
  readonly path: string;
  /** The file's name; undefined: as the server calls it. */
  readonly name?: string;
  /** Told how many bytes have come so far. */
  readonly onBytes: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** The name of the file. @throws ApiProblem, also where the file breaks off; what `signal` throws */
export async function download({ path, name, onBytes, signal }: Download): Promise<string> {
  const url = new URL(path, window.location.origin);
  const answer = await fetchWithToken(new Request(url, signal === undefined ? {} : { signal }));
  if (!answer.ok || answer.body === null) throw await ApiProblem.of(answer);
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.length;
      onBytes(bytes);
      controller.enqueue(chunk);
    },
  });
  const type = answer.headers.get('content-type') ?? '';
  const content = await new Response(answer.body.pipeThrough(counter), { headers: { 'content-type': type } })
    .blob()
    .catch((error: unknown) => {
      throw signal?.aborted === true ? error : ApiProblem.unreachable(error);
    });
  const given = /filename="([^"]+)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1];
  const file = name ?? given ?? 'download';
  saveFile(content, file);
  return file;
}

/** Hands a file to the browser to be saved. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
