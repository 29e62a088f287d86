// Answers of the server, kept and shared by what they are called in query-keys.ts.
import { QueryClient } from '@tanstack/react-query';
import { ApiProblem } from '../api/api-problem.ts';
import { limits } from '../limits.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: limits.staleMs,
      // A refusal stays one; a server that is busy or away may come back.
      retry: (count, error) =>
        count < 2 && (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
    },
  },
});
