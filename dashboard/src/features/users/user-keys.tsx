// The API keys of a user, which admins can revoke one by one or all at once.
import { Button, Text } from '@mantine/core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { KeyRow } from '../../shared/account/key-row.tsx';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import classes from '../../shared/list/rows.module.css';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

type Key = Schemas['Key'];

export const userKeysQuery = (user: string) =>
  queryOptions({
    queryKey: keys.userKeys(user),
    queryFn: () => call(api.GET('/api/v2/users/{user}/keys', { params: { path: { user } } })),
  });

export function UserKeys({ user }: { readonly user: Schemas['User'] }) {
  const { signIns } = usePageStrings();
  /** What is asked about: one key, or all. */
  const [asked, setAsked] = useState<Key | 'all'>();
  const { data, error, refetch } = useQuery(userKeysQuery(user.id));
  return (
    <Section
      title={signIns.keysTitle}
      words={signIns.keysWords(user.username)}
      actions={
        data !== undefined &&
        data.length > 0 && (
          <Button
            variant="default"
            flex="none"
            aria-label={signIns.revokeAllOf(user.username)}
            onClick={() => setAsked('all')}
          >
            {signIns.revokeAll}
          </Button>
        )
      }
    >
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsSkeleton rows={1} />}
      {data?.length === 0 && <Text c="dimmed">{signIns.keysNone}</Text>}
      <ul className={classes.list} aria-label={signIns.keysTitle}>
        {data?.map((key) => (
          <KeyRow key={key.id} record={key} onRevoke={() => setAsked(key)} />
        ))}
      </ul>
      <Revoke user={user} asked={asked} onClose={() => setAsked(undefined)} />
    </Section>
  );
}

interface RevokeProps {
  readonly user: Schemas['User'];
  readonly asked: Key | 'all' | undefined;
  readonly onClose: () => void;
}

function Revoke({ user, asked, onClose }: RevokeProps) {
  const { profile, signIns } = usePageStrings();
  const queries = useQueryClient();
  const isAll = asked === 'all';
  const name = isAll ? '' : (asked?.name ?? '');
  const revoke = async () => {
    if (asked === undefined) return;
    const path = { user: user.id };
    if (asked === 'all') await call(api.DELETE('/api/v2/users/{user}/keys', { params: { path } }));
    else await call(api.DELETE('/api/v2/users/{user}/keys/{key}', { params: { path: { ...path, key: asked.id } } }));
    // An admin may look at their own account, whose keys are on the profile page too.
    await Promise.all(
      [keys.userKeys(user.id), keys.apiKeys].map((queryKey) => queries.invalidateQueries({ queryKey })),
    );
    toasts.show({ text: isAll ? signIns.revokedAll(user.username) : profile.keyRevoked(name) });
  };
  return (
    <ConfirmDanger
      isOpen={asked !== undefined}
      onClose={onClose}
      title={isAll ? signIns.revokeAllQuestion(user.username) : profile.keyRevokeQuestion(name)}
      words={isAll ? signIns.revokeAllWords : profile.keyRevokeWords}
      action={isAll ? signIns.revokeAll : profile.keyRevoke}
      onConfirm={revoke}
    />
  );
}
