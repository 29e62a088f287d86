// A share as a row: a chip for each right, to give or to take, and a button that ends it. Of a gateway or project, the
// rights on its devices stand in a line of their own.
import { ActionIcon, Chip, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { usePageStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';
import { type SharedKind, scopesOf, scopeWord, useScopeWords } from './scopes.ts';
import type { Share } from './use-share-change.ts';

interface ShareRowProps {
  readonly kind?: SharedKind;
  readonly share: Share;
  /** What stands before the chips: the user, and the record where shares of several are listed. */
  readonly title: ReactNode;
  readonly onChange: (share: Share, before: Share) => void;
}

export function ShareRow({ kind = 'device', share, title, onChange }: ShareRowProps) {
  const { device: words } = usePageStrings();
  const { username, scopes } = share;
  const { own, ofDevices } = scopesOf(kind);
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap">
      <Group gap="sm">
        <Text fw={600} miw={120} component="div" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Text>
        <Chip.Group multiple value={[...scopes]} onChange={(chosen) => onChange({ username, scopes: chosen }, share)}>
          <Stack gap={6} role="group" aria-label={words.shareRights(username)}>
            <Chips names={own} />
            {ofDevices.length > 0 && (
              <>
                <Text fz="sm" c="dimmed">
                  {words.shareOnDevices}
                </Text>
                <Chips names={ofDevices} />
              </>
            )}
          </Stack>
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

function Chips({ names }: { readonly names: readonly string[] }) {
  const scopeWords = useScopeWords();
  return (
    <Group gap={6}>
      {names.map((scope) => (
        <Chip key={scope} value={scope} size="xs" variant="outline">
          {scopeWord(scopeWords, scope)}
        </Chip>
      ))}
    </Group>
  );
}
