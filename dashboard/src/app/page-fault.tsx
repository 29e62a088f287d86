// What is shown in place of a page that broke, in plain words; refusals of the server say why.
import { Button } from '@mantine/core';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ApiProblem } from '../api/api-problem.ts';
import { EmptyState } from '../shared/empty-state.tsx';
import { ProblemNotice } from '../shared/problem-notice.tsx';
import { useStrings } from '../strings/strings.ts';

export function PageFault({ error }: ErrorComponentProps) {
  const { shared } = useStrings();
  const router = useRouter();
  const again = () => void router.invalidate();
  // With the network the page comes by itself.
  useEffect(() => {
    window.addEventListener('online', again);
    return () => window.removeEventListener('online', again);
  });
  if (error instanceof ApiProblem) return <ProblemNotice error={error} retry={again} />;
  return (
    <EmptyState isPage title={shared.broken} words={shared.brokenWords}>
      <Button onClick={() => window.location.reload()}>{shared.reload}</Button>
    </EmptyState>
  );
}
