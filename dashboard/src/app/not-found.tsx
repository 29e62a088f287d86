// What stands at an address that leads nowhere.
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../shared/page/empty-state.tsx';
import { useStrings } from '../strings/strings.ts';

export function NotFound() {
  const { shared, shell } = useStrings();
  return (
    <EmptyState isPage title={shared.notFound} words={shared.notFoundWords}>
      <Button component={Link} to="/devices" variant="default">
        {shell.devices}
      </Button>
    </EmptyState>
  );
}
