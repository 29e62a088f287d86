// Zooming and moving on a chart are steps of the browser's history; "back" takes back the last one, not all of them. The
// history says how many there are, so that it holds after the page was loaded again too.
import { type HistoryState, useRouter } from '@tanstack/react-router';

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Steps of a chart's span before this one that can be gone back. */
    spanSteps?: number;
  }
}

/** For `navigate`: how the page changes the span of its chart. */
export function spanStep(changed: { readonly from?: string | undefined }) {
  const isStep = changed.from !== undefined;
  return {
    replace: !isStep,
    state: (before: HistoryState): HistoryState => ({
      ...before,
      spanSteps: (before.spanSteps ?? 0) + (isStep ? 1 : 0),
    }),
  };
}

/** Goes one step back; who came by an address with a span in it has none before and sees what is shown without. */
export function useSpanBack(onReset: () => void): () => void {
  const { history } = useRouter();
  return () => {
    const { spanSteps = 0 } = history.location.state as HistoryState;
    if (spanSteps > 0) history.back();
    else onReset();
  };
}
