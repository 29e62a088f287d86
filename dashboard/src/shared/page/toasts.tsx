// Short notes at the foot of the page: `toasts.show({ text, undo })`. One with `undo` gives some seconds to take the act
// back; errors stay until they are read. Screen readers hear them.
import { Button, CloseButton, Group, Paper, Stack, Text } from '@mantine/core';
import { useEffect, useSyncExternalStore } from 'react';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import classes from './toasts.module.css';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad?: boolean;
  readonly undo?: () => void;
}

let shown: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function become(next: readonly Toast[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

export const toasts = {
  show(toast: Omit<Toast, 'id'>): void {
    become([...shown, { ...toast, id: nextId++ }].slice(-limits.toastsMax));
  },
  hide(id: number): void {
    become(shown.filter((toast) => toast.id !== id));
  },
};

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => shown);
  return (
    <Stack className={classes.stack} gap="xs" role="status" aria-live="polite">
      {list.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </Stack>
  );
}

function ToastCard({ toast }: { readonly toast: Toast }) {
  const { shared } = useStrings();
  const { id, text, undo, isBad = false } = toast;
  useEffect(() => {
    if (isBad) return;
    const timer = setTimeout(() => toasts.hide(id), limits.undoMs);
    return () => clearTimeout(timer);
  }, [id, isBad]);
  return (
    <Paper className={classes.toast} data-bad={isBad || undefined} withBorder px="md" py="xs">
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <Text fz="sm">{text}</Text>
        <Group gap={4} wrap="nowrap">
          {undo !== undefined && (
            <Button
              variant="subtle"
              size="compact-sm"
              onClick={() => {
                toasts.hide(id);
                undo();
              }}
            >
              {shared.undo}
            </Button>
          )}
          <CloseButton size="sm" aria-label={shared.close} onClick={() => toasts.hide(id)} />
        </Group>
      </Group>
    </Paper>
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
