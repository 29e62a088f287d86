// What a page shows where there is nothing: what would be here, and the next step.
import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

export interface EmptyStateProps {
  readonly title: string;
  readonly words?: string;
  /** Where it is all there is on the page. */
  readonly isPage?: boolean;
  /** The next step: a button or a link. */
  readonly children?: ReactNode;
}

export function EmptyState({ title, words, isPage = false, children }: EmptyStateProps) {
  return (
    <Stack align="center" gap="xs" py={64} px="md" ta="center">
      <Title order={isPage ? 1 : 2} fz={isPage ? 26 : 'lg'} {...(isPage ? { id: 'page-title', tabIndex: -1 } : {})}>
        {title}
      </Title>
      {words !== undefined && (
        <Text c="dimmed" maw={440}>
          {words}
        </Text>
      )}
      {children !== undefined && <div className="d-gap-top">{children}</div>}
    </Stack>
  );
}
