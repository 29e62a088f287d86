// A share as a row: a chip for each right, to give or to take, and a button that ends it.
import { ActionIcon, Chip, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';
import { scopeNames, useScopeWords } from './scopes.ts';
import type { Share } from './use-share-change.ts';

interface ShareRowProps {
  readonly share: Share;
  /** What stands before the chips: the user, and the device where shares of several are listed. */
  readonly title: ReactNode;
  readonly onChange: (share: Share, before: Share) => void;
}

export function ShareRow({ share, title, onChange }: ShareRowProps) {
  const { device: words } = useStrings();
  const scopeWords = useScopeWords();
  const { username, scopes } = share;
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap">
      <Group gap="sm">
        <Text fw={600} miw={120} component="div" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Text>
        <Chip.Group multiple value={[...scopes]} onChange={(chosen) => onChange({ username, scopes: chosen }, share)}>
          <Group gap={6} role="group" aria-label={words.shareRights(username)}>
            {scopeNames.map((scope) => (
              <Chip key={scope} value={scope} size="xs" variant="outline">
                {scopeWords[scope]}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      </Group>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={words.shareRemove(username)}
        onClick={() => onChange({ username, scopes: [] }, share)}
      >
        <Icon name="close" />
      </ActionIcon>
    </Group>
  );
}
