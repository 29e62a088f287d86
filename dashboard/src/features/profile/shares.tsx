// What others handed to me, what they share with me, and what I share with them.
import { Badge, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { RecordLink, RecordList } from '../../shared/list/record-list.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import type { Strings } from '../../strings/catalogue.ts';
import { useStrings } from '../../strings/strings.ts';
import { Received, receivedQuery } from './received.tsx';
import { SharesByMe } from './shares-by-me.tsx';

export function Shares() {
  const { data, error, refetch } = useQuery(receivedQuery);
  // It stands first, since it has an end; what is below waits for it and so does not move.
  if (data === undefined && error === null) return <RowsSkeleton rows={6} />;
  return (
    <>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      <Received entries={data ?? []} />
      <SharesWithMe />
      <SharesByMe />
    </>
  );
}

function SharesWithMe() {
  const { profile } = useStrings();
  const query = { direction: 'with-me', limit: 1_000, offset: 0 } as const;
  const { data, error, refetch } = useQuery({
    queryKey: keys.shares('with-me'),
    queryFn: () => call(api.GET('/api/v2/auth/shares', { params: { query } })),
  });
  return (
    <Section title={profile.withMe}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.length === 0 && <EmptyState title={profile.withMeNone} words={profile.withMeNoneWords} />}
      <RecordList label={profile.withMe}>
        {data?.map((share) => (
          <RecordLink
            key={`${share.device}/${share.username}`}
            to="/devices/$device"
            params={{ device: share.device }}
            title={share.name || share.device}
            detail={
              <Group gap={6} component="span">
                {profile.ownedBy(share.owner)}
                <Rights scopes={share.scopes} />
              </Group>
            }
          />
        ))}
      </RecordList>
    </Section>
  );
}

function Rights({ scopes }: { readonly scopes: readonly string[] }) {
  const { profile } = useStrings();
  return scopes.map((scope) => (
    <Badge key={scope} component="span" size="sm" variant="light" color="gray" tt="none">
      {wordsOf(scope, profile)}
    </Badge>
  ));
}

function wordsOf(scope: string, profile: Strings['profile']): string {
  return Object.hasOwn(profile, scope) ? (profile[scope as 'device:view'] ?? scope) : scope;
}
