// What others handed to me, what they share with me, and what I share with them.
import { Badge, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type SharedKind, scopesOf } from '../../shared/device/scopes.ts';
import { RecordLink, RecordList } from '../../shared/list/record-list.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { Received, receivedQuery } from './received.tsx';
import { SharesByMe } from './shares-by-me.tsx';
import { pageOf, useShares } from './use-shares.ts';

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
  const { profile } = usePageStrings();
  const { data, error, refetch } = useShares('with-me');
  return (
    <Section title={profile.withMe}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.length === 0 && <EmptyState title={profile.withMeNone} words={profile.withMeNoneWords} />}
      <RecordList label={profile.withMe}>
        {data?.map(({ of, share }) => (
          <RecordLink
            key={`${of.kind}/${of.id}`}
            {...(pageOf(of) as { to: '/devices/$device'; params: { device: string } })}
            title={share.name || of.id}
            detail={
              <Group gap={6} component="span">
                {of.kind === 'device' ? '' : `${profile.kindOf[of.kind]}, `}
                {profile.ownedBy(share.owner)}
                <Rights kind={of.kind} scopes={share.scopes} />
              </Group>
            }
          />
        ))}
      </RecordList>
    </Section>
  );
}

function Rights({ kind, scopes }: { readonly kind: SharedKind; readonly scopes: readonly string[] }) {
  const { profile } = usePageStrings();
  const { ofDevices } = scopesOf(kind);
  const onDevices = scopes.filter((scope) => ofDevices.includes(scope));
  return (
    <>
      <Badges scopes={scopes.filter((scope) => !onDevices.includes(scope))} />
      {onDevices.length > 0 && profile.onDevices}
      <Badges scopes={onDevices} />
    </>
  );
}

function Badges({ scopes }: { readonly scopes: readonly string[] }) {
  const { profile } = usePageStrings();
  return scopes.map((scope) => (
    <Badge key={scope} component="span" size="sm" variant="light" color="gray" tt="none">
      {wordsOf(scope, profile)}
    </Badge>
  ));
}

/** Gateways and projects are seen, changed and deleted as devices are. */
function wordsOf(scope: string, profile: Strings['profile']): string {
  const name = scope.replace(/^(?:gateway|project):/, 'device:');
  return Object.hasOwn(profile, name) ? (profile[name as 'device:view'] ?? scope) : scope;
}
