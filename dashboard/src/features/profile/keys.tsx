// API keys: what each may do, when it was used last, and its end.
import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { KeyRow } from '../../shared/account/key-row.tsx';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import classes from '../../shared/list/rows.module.css';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { CreateKey } from './create-key.tsx';

type Key = Schemas['Key'];

export function Keys({ isAdmin }: { readonly isAdmin: boolean }) {
  const { profile } = usePageStrings();
  const [isCreating, { open, close }] = useDisclosure(false);
  const [revoked, setRevoked] = useState<Key>();
  const { data, error, refetch } = useQuery({
    queryKey: keys.apiKeys,
    queryFn: () => call(api.GET('/api/v2/auth/keys')),
  });
  const create = (
    <Button leftSection={<Icon name="plus" />} onClick={open}>
      {profile.keyCreate}
    </Button>
  );
  // Where there are none it stands with the words that say so; until that is known nowhere, so that it never moves away from
  // under who is about to press it.
  const hasPlace = data === undefined ? error !== null : data.length > 0;
  return (
    <Section title={profile.keys} words={profile.keysWords} actions={hasPlace && create}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.length === 0 && (
        <EmptyState title={profile.keysNone} words={profile.keysNoneWords}>
          {create}
        </EmptyState>
      )}
      <ul className={classes.list} aria-label={profile.keyTable}>
        {data?.map((key) => (
          <KeyRow key={key.id} record={key} onRevoke={() => setRevoked(key)} />
        ))}
      </ul>
      <CreateKey isOpen={isCreating} onClose={close} isAdmin={isAdmin} />
      <Revoke record={revoked} onClose={() => setRevoked(undefined)} />
    </Section>
  );
}

function Revoke({ record, onClose }: { readonly record: Key | undefined; readonly onClose: () => void }) {
  const { profile } = usePageStrings();
  const queries = useQueryClient();
  const revoke = async () => {
    if (record === undefined) return;
    await call(api.DELETE('/api/v2/auth/keys/{key}', { params: { path: { key: record.id } } }));
    await queries.invalidateQueries({ queryKey: keys.apiKeys });
    toasts.show({ text: profile.keyRevoked(record.name) });
  };
  return (
    <ConfirmDanger
      isOpen={record !== undefined}
      onClose={onClose}
      title={profile.keyRevokeQuestion(record?.name ?? '')}
      words={profile.keyRevokeWords}
      action={profile.keyRevoke}
      onConfirm={revoke}
    />
  );
}
