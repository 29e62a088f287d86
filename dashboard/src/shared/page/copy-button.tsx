// Copies a text and says so. With `children` it is a button with that label, else an icon. Where the browser refuses, the
// text is shown, selected, for copying by hand.
import { ActionIcon, Button, Popover, Textarea, Tooltip } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { copyText } from './copy-text.ts';
import { Icon } from './icon.tsx';

export function CopyButton({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  const { shared } = useStrings();
  const [state, setState] = useState<'copied' | 'refused'>();
  useEffect(() => {
    if (state !== 'copied') return undefined;
    const timer = setTimeout(() => setState(undefined), limits.copiedMs);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => setState((await copyText(text)) ? 'copied' : 'refused');
  const label = state === 'copied' ? shared.copied : shared.copy;
  const icon = <Icon name={state === 'copied' ? 'check' : 'copy'} />;
  return (
    <Popover opened={state === 'refused'} onDismiss={() => setState(undefined)} width={280} trapFocus>
      <Popover.Target>
        {children === undefined ? (
          <Tooltip label={label}>
            <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={() => void copy()}>
              {icon}
            </ActionIcon>
          </Tooltip>
        ) : (
          <Button variant="default" size="xs" leftSection={icon} onClick={() => void copy()}>
            {state === 'copied' ? shared.copied : children}
          </Button>
        )}
      </Popover.Target>
      <Popover.Dropdown>
        <Textarea
          label={shared.copyByHand}
          value={text}
          readOnly
          autosize
          data-autofocus
          onFocus={(event) => event.currentTarget.select()}
        />
      </Popover.Dropdown>
    </Popover>
  );
}
