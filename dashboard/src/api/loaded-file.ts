// Files of the dashboard that are loaded when they are first needed: those of pages, and of their words.
import { ApiProblem } from './api-problem.ts';

/**
 * What loads the file, or says that nobody answers. Where the server answers, the network may have come back just then: the file is
 * asked for once more. Where it cannot be had then either it is one of another version: what is thrown makes the router
 * load everything anew.
 * @throws ApiProblem `unreachable`
 */
export function loadedFile<T>(load: () => Promise<T>): () => Promise<T> {
  return () =>
    load().catch(async (error: unknown) => {
      await fetch('/', { method: 'HEAD', cache: 'no-store' }).catch((cause: unknown) => {
        throw ApiProblem.unreachable(cause);
      });
      return load().catch(() => {
        throw error;
      });
    });
}
