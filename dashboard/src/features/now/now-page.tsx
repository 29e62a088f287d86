// The first page: what is wrong now, newest first, and what one can do about it; and where all is well, the day in a few lines.
import { Button, SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type AlarmsQuestion, alarmsQuery } from '../../api/alarms.ts';
import { useUsername } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { AlarmList } from '../../shared/alarm/alarm-list.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useStrings } from '../../strings/strings.ts';
import { AlarmFilters } from './alarm-filters.tsx';
import { CalmDay } from './calm-day.tsx';
import { type NowSearch, type NowView, questions } from './now-search.ts';
import { SilentEntry, useSilentDevices } from './put-aside.tsx';

const route = getRouteApi('/now');

export function NowPage() {
  const { now } = useStrings();
  const search: NowSearch = route.useSearch();
  const { view = 'open' } = search;
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(alarmsQuery({ ...questions[view], ...useFilter(search) }));
  const { data: open } = useQuery(alarmsQuery(questions.open));
  const isFiltered = search.kind !== undefined || search.who !== undefined;
  const isEmpty = data?.total === 0 && !isFiltered;
  const silent = useSilentDevices();
  const saysSilent = view === 'open' && search.who === undefined && [undefined, 'silence'].includes(search.kind);
  const before = saysSilent && (silent.known?.silent ?? 0) > 0 && silent.known && <SilentEntry {...silent.known} />;
  // Nothing moves: what stands first is known before the list is drawn.
  const isListed = data !== undefined && !isEmpty && !(saysSilent && silent.isComing);
  return (
    <>
      <PageHeader
        title={now.title}
        subtitle={open === undefined || open.total === 0 ? '\u00a0' : now.open(open.total)}
        actions={
          <SegmentedControl
            aria-label={now.view}
            value={view}
            onChange={(chosen) => {
              void navigate({ to: '/now', search: { view: chosen === 'open' ? undefined : (chosen as NowView) } });
            }}
            data={[
              { value: 'open', label: now.viewOpen },
              { value: 'snoozed', label: now.viewSnoozed },
              { value: 'over', label: now.viewOver },
            ]}
          />
        }
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!isListed && !isEmpty && error === null && <Skeleton height={320} radius="md" />}
      {isEmpty && view === 'open' && <CalmDay />}
      {isEmpty && view === 'snoozed' && <EmptyState title={now.noneSnoozed} />}
      {isEmpty && view === 'over' && <EmptyState title={now.noneOver} />}
      {data !== undefined && (isFiltered || data.total > limits.alarmsUnsortedMax) && (
        <AlarmFilters search={search} alarms={data.page} />
      )}
      {isListed && data.total === 0 && !before && (
        <EmptyState title={now.noneFits}>
          <Button variant="default" onClick={() => void navigate({ to: '/now', search: { view: search.view } })}>
            {now.showAll}
          </Button>
        </EmptyState>
      )}
      {isListed && (data.total > 0 || before) && <AlarmList alarms={data.page} total={data.total} before={before} />}
    </>
  );
}

function useFilter({ kind, who }: NowSearch): Partial<AlarmsQuestion> {
  const me = useUsername();
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(who === 'nobody' ? { acknowledged: false } : {}),
    ...(who === 'me' ? { assigned_to: me } : {}),
  };
}
