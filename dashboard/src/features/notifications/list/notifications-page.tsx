// The notifications of who is signed in, how each stands, and the outbox of their messages.
import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useHoldingIsComing } from '../../../api/alarms.ts';
import { api, callPage } from '../../../api/client.ts';
import { namedDevicesQuery } from '../../../api/named-devices.ts';
import { keys } from '../../../api/query-keys.ts';
import { limits } from '../../../limits.ts';
import { useRemovals } from '../../../shared/device/removals.ts';
import { EmptyState } from '../../../shared/page/empty-state.tsx';
import { Icon } from '../../../shared/page/icon.tsx';
import { PageHeader } from '../../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import { Outbox } from '../outbox/outbox.tsx';
import classes from '../rules.module.css';
import type { NotificationsSearch } from './notifications-search.ts';
import { ruleKey } from './rule-acts.ts';
import { RuleFilters, useFitting } from './rule-filters.tsx';
import { RuleRow, RuleRowHead } from './rule-row.tsx';

const route = getRouteApi('/notifications');
const query = { limit: 1000, offset: 0 };

export function NotificationsPage() {
  const { notifications } = usePageStrings();
  const search = route.useSearch();
  const navigate = useNavigate();
  return (
    <>
      <PageHeader
        title={notifications.title}
        actions={
          <>
            <SegmentedControl
              aria-label={notifications.view}
              value={search.view ?? 'rules'}
              onChange={(view) =>
                void navigate({ to: '/notifications', search: view === 'outbox' ? { view: 'outbox' } : {} })
              }
              data={[
                { value: 'rules', label: notifications.rules },
                { value: 'outbox', label: notifications.outbox },
              ]}
            />
            <Button component={Link} to="/notifications/new" leftSection={<Icon name="plus" />}>
              {notifications.create}
            </Button>
          </>
        }
      />
      {search.view === 'outbox' ? <Outbox search={search} /> : <Rules search={search} />}
    </>
  );
}

function Rules({ search }: { readonly search: NotificationsSearch }) {
  const { notifications } = usePageStrings();
  const removals = useRemovals();
  const { data, error, refetch } = useQuery({
    queryKey: keys.notificationList(query),
    refetchInterval: 15_000,
    queryFn: () => callPage(api.GET('/api/v2/notifications', { params: { query } })),
  });
  const rules = data?.page.filter(({ id }) => !removals.has(ruleKey(id))) ?? [];
  const about = namedDevicesQuery(rules.flatMap(({ condition }) => condition.devices ?? []));
  const { data: known = [] } = useQuery(about);
  const fits = useFitting(search, known);
  // A row is higher where its condition holds.
  const isHoldingComing = useHoldingIsComing();
  if (error !== null) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (data === undefined || isHoldingComing) return <Skeleton height={320} />;
  if (rules.length === 0) return <NoRules />;
  const isFiltered = search.find !== undefined || search.only !== undefined;
  const shown = isFiltered ? rules.filter(fits) : rules;
  return (
    <>
      {(isFiltered || rules.length > limits.rulesUnsortedMax) && <RuleFilters search={search} />}
      {shown.length === 0 && <NoneFits />}
      {shown.length > 0 && <RuleRowHead />}
      <ul className={classes.list} aria-label={notifications.title}>
        {shown.map((rule) => (
          <RuleRow key={rule.id} rule={rule} known={known} />
        ))}
      </ul>
      {data.total > data.page.length && <p className="d-quiet">{notifications.rulesMore(data.page.length)}</p>}
    </>
  );
}

function NoneFits() {
  const { notifications } = usePageStrings();
  return (
    <EmptyState title={notifications.noneFits}>
      <Button component={Link} to="/notifications" search={{} as never} variant="default">
        {notifications.showAll}
      </Button>
    </EmptyState>
  );
}

function NoRules() {
  const { notifications } = usePageStrings();
  return (
    <EmptyState title={notifications.empty} words={notifications.emptyWords}>
      <Button component={Link} to="/notifications/new">
        {notifications.emptyNext}
      </Button>
    </EmptyState>
  );
}
