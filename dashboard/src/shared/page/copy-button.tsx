// Copies a text and says so. With `children` it is a button with that label, else an icon.
import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useStrings } from '../../strings/strings.ts';
import { Icon } from './icon.tsx';

export function CopyButton({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  const { shared } = useStrings();
  const { copied, copy } = useClipboard({ timeout: 2_000 });
  const label = copied ? shared.copied : shared.copy;
  const icon = <Icon name={copied ? 'check' : 'copy'} />;
  if (children !== undefined) {
    return (
      <Button variant="default" size="xs" leftSection={icon} onClick={() => copy(text)}>
        {copied ? shared.copied : children}
      </Button>
    );
  }
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={() => copy(text)}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
