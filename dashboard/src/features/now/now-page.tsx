// The first page: what is wrong now, newest first, and what one can do about it; and where all is well, the day in a few lines.
import { SegmentedControl, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type AlarmsQuestion, alarmsQuery } from '../../api/alarms.ts';
import { limits } from '../../limits.ts';
import { AlarmList } from '../../shared/alarm/alarm-list.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useStrings } from '../../strings/strings.ts';
import { CalmDay } from './calm-day.tsx';
import type { NowSearch, NowView } from './now-search.ts';

const route = getRouteApi('/now');

const limit = limits.alarmsShownMax;
const questions: Readonly<Record<NowView, AlarmsQuestion>> = {
  open: { state: 'active', snoozed: false, limit },
  snoozed: { state: 'active', snoozed: true, limit },
  over: { state: 'cleared', limit },
};

export function NowPage() {
  const { now } = useStrings();
  const { view = 'open' }: NowSearch = route.useSearch();
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(alarmsQuery(questions[view]));
  const { data: open } = useQuery(alarmsQuery(questions.open));
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
              const search = chosen === 'open' ? {} : { view: chosen as NowView };
              void navigate({ to: '/now', search });
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
      {data === undefined && error === null && <Skeleton height={320} radius="md" />}
      {data?.total === 0 && view === 'open' && <CalmDay />}
      {data?.total === 0 && view === 'snoozed' && <EmptyState title={now.noneSnoozed} />}
      {data?.total === 0 && view === 'over' && <EmptyState title={now.noneOver} />}
      {data !== undefined && data.total > 0 && <AlarmList alarms={data.page} total={data.total} />}
    </>
  );
}
