// What is shown in place of a page that broke, in plain words; refusals of the server say why.
import { Button } from '@mantine/core';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useLayoutEffect } from 'react';
import { ApiProblem } from '../api/api-problem.ts';
import { limits } from '../limits.ts';
import { EmptyState } from '../shared/page/empty-state.tsx';
import { ProblemNotice } from '../shared/page/problem-notice.tsx';
import { useStrings } from '../strings/strings.ts';

export function PageFault({ error }: ErrorComponentProps) {
  const { shared } = useStrings();
  const router = useRouter();
  const again = () => void router.invalidate();
  const isUnreachable = error instanceof ApiProblem && error.code === 'unreachable';
  // With the network, or with the server, the page comes by itself. Listens before anything is seen of the fault.
  useLayoutEffect(() => {
    if (!isUnreachable) return;
    window.addEventListener('online', again);
    const retries = setInterval(again, limits.pageRetryMs);
    return () => {
      window.removeEventListener('online', again);
      clearInterval(retries);
    };
  });
  if (error instanceof ApiProblem) return <ProblemNotice error={error} retry={again} />;
  return (
    <EmptyState isPage title={shared.broken} words={shared.brokenWords}>
      <Button onClick={() => window.location.reload()}>{shared.reload}</Button>
    </EmptyState>
  );
}
