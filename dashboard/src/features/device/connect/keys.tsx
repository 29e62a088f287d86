// API keys that open this device alone: made, shown once, revoked.
import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Device } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import { serverNow } from '../../../api/server-time.ts';
import { limits } from '../../../limits.ts';
import { Age } from '../../../shared/device/age.tsx';
import { ConfirmDanger } from '../../../shared/form/confirm-danger.tsx';
import { useForm } from '../../../shared/form/use-form.ts';
import { RowsSkeleton } from '../../../shared/list/rows-skeleton.tsx';
import { CodeBlock } from '../../../shared/page/code-block.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import { usePageLocale, usePageStrings } from '../../../strings/strings.ts';
import classes from '../section.module.css';

const mayScopes = {
  push: ['devices:view', 'devices-data:create'],
  read: ['devices:view', 'devices-data:view'],
  both: ['devices:view', 'devices-data:view', 'devices-data:create'],
  all: undefined,
} as const;

interface KeysProps {
  readonly device: Device;
  /** The key that was just made: it is shown this once, while the page is open. */
  readonly made: string | undefined;
  readonly onMade: (key: string) => void;
}

export function Keys({ device: { id: device, name: title }, made, onMade }: KeysProps) {
  const { tag, strings } = usePageLocale();
  const words = strings.device;
  const queries = useQueryClient();
  const [revoked, setRevoked] = useState<{ readonly id: string; readonly name: string }>();
  const { data, error } = useQuery({ queryKey: keys.apiKeys, queryFn: () => call(api.GET('/api/v2/auth/keys')) });
  const own = data?.filter(({ devices }) => devices?.includes(device));
  const revoke = async () => {
    await call(api.DELETE('/api/v2/auth/keys/{key}', { params: { path: { key: revoked?.id ?? '' } } }));
    await queries.invalidateQueries({ queryKey: keys.apiKeys });
    toasts.show({ text: words.keyRevoked(revoked?.name ?? '') });
  };
  return (
    <>
      <Text c="dimmed" fz="sm" mb="sm">
        {words.keysWords}
      </Text>
      {/* Above the list, which comes later and grows. */}
      <MakeKey device={device} title={title || device} onMade={onMade} />
      {error !== null && <ProblemNotice error={error} />}
      {made !== undefined && (
        <div role="status" className={classes.made}>
          <Text fw={600} mb={6}>
            {words.keyShown}
          </Text>
          <CodeBlock text={made} />
        </div>
      )}
      {own === undefined && error === null && <RowsSkeleton rows={1} rowHeight={76} />}
      {own?.length === 0 && <Text mt="md">{words.keysNone}</Text>}
      <ul className={classes.list}>
        {own?.map(({ id, name, expires, last_used: used }) => (
          <li key={id}>
            <Group justify="space-between" wrap="nowrap">
              <div>
                <Text fw={600}>{name}</Text>
                <Text fz="sm" c="dimmed">
                  {words.keyUsed} <Age at={used} />
                  {expires !== undefined && ` · ${words.keyUntil(new Date(expires).toLocaleDateString(tag))}`}
                </Text>
              </div>
              <Button variant="default" size="xs" onClick={() => setRevoked({ id, name })}>
                {words.keyRevoke}
              </Button>
            </Group>
          </li>
        ))}
      </ul>
      <ConfirmDanger
        isOpen={revoked !== undefined}
        onClose={() => setRevoked(undefined)}
        title={words.keyRevokeTitle(revoked?.name ?? '')}
        words={words.keyRevokeWords}
        action={words.keyRevoke}
        onConfirm={revoke}
      />
    </>
  );
}

interface MakeKeyProps {
  readonly device: string;
  /** What it is called at first. */
  readonly title: string;
  readonly onMade: (key: string) => void;
}

function MakeKey({ device, title, onMade }: MakeKeyProps) {
  const { device: words } = usePageStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: { name: title, may: 'push' as keyof typeof mayScopes, expires: '' },
    check: ({ name }) => (name.trim() === '' ? { name: words.keyNameNeeded } : {}),
    submit: async ({ name, may, expires }) => {
      const scopes = mayScopes[may];
      const body = {
        name: name.trim(),
        devices: [device],
        ...(scopes === undefined ? {} : { scopes: [...scopes] }),
        ...(expires === '' ? {} : { expires: inDays(Number(expires)) }),
      };
      const { key } = await call(api.POST('/api/v2/auth/keys', { body }));
      onMade(key);
      form.reset();
      await queries.invalidateQueries({ queryKey: keys.apiKeys });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="sm" mt="md" maw={480}>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput label={words.keyName} placeholder={words.keyNameExample} {...form.field('name')} />
        <Group grow>
          <NativeSelect
            label={words.keyMay}
            data={[
              { value: 'push', label: words.keyMayPush },
              { value: 'read', label: words.keyMayRead },
              { value: 'both', label: words.keyMayBoth },
              { value: 'all', label: words.keyMayAll },
            ]}
            {...form.field('may')}
          />
          <NativeSelect
            label={words.keyExpires}
            data={[
              { value: '', label: words.keyNever },
              { value: String(limits.keyMonthDays), label: words.keyMonth },
              { value: String(limits.keyYearDays), label: words.keyYear },
            ]}
            {...form.field('expires')}
          />
        </Group>
        <div>
          <Button type="submit" loading={form.isSending}>
            {words.keyMake}
          </Button>
        </div>
      </Stack>
    </form>
  );
}

function inDays(days: number): string {
  return new Date(serverNow() + days * 86_400_000).toISOString();
}
