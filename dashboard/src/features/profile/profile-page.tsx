// One's own page: who one is, how one is reached, what is shared, keys for machines, password and look.
import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Schemas } from '../../api/client.ts';
import { meQuery } from '../../api/me.ts';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import tabs from '../../shared/page/tabs.module.css';
import { usePageStrings } from '../../strings/strings.ts';
import { Access } from './access.tsx';
import { Channels } from './channels.tsx';
import { Keys } from './keys.tsx';
import { OwnData } from './own-data.tsx';
import { OwnQuotas } from './own-quotas.tsx';
import { type ProfileTab, profileTabs } from './profile-search.ts';
import { Shares } from './shares.tsx';

const route = getRouteApi('/profile');

export function ProfilePage() {
  const { shell, profile } = usePageStrings();
  const { tab = 'data' } = route.useSearch();
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(meQuery);
  const open = (next: string | null) =>
    void navigate({ to: '/profile', search: { tab: profileTabs.find((known) => known === next) }, replace: true });
  return (
    <>
      <PageHeader title={shell.profile} subtitle={data?.username ?? '\u00a0'} />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsSkeleton rows={6} />}
      {data !== undefined && (
        <Tabs value={tab} onChange={open} keepMounted={false}>
          <Tabs.List aria-label={profile.tabs} mb="xl" className={tabs.list}>
            {profileTabs.map((name) => (
              <Tabs.Tab key={name} value={name} className={tabs.tab}>
                {profile[name]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {profileTabs.map((name) => (
            <Tabs.Panel key={name} value={name}>
              <Part name={name} me={data} />
            </Tabs.Panel>
          ))}
        </Tabs>
      )}
    </>
  );
}

function Part({ name, me }: { readonly name: ProfileTab; readonly me: Schemas['User'] }) {
  switch (name) {
    case 'data':
      return (
        <>
          <OwnData me={me} />
          <OwnQuotas />
        </>
      );
    case 'messages':
      return <Channels me={me} />;
    case 'shares':
      return <Shares />;
    case 'keys':
      return <Keys isAdmin={me.admin === true} />;
    case 'access':
      return <Access me={me} />;
  }
}
