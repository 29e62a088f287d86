// No alarm is open: a calm sign where nothing at all is wrong, else what is put aside; and the day in five lines, from its first
// moment where one is.
import { Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, callPage } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../shared/account/quotas.ts';
import { formatNumber } from '../../shared/device/value.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { useLocale } from '../../strings/strings.ts';
import classes from './now.module.css';
import { PutAside, usePutAside } from './put-aside.tsx';

const staleTime = limits.todayStaleMs;
const one = { limit: 1, offset: 0 } as const;

export function CalmDay() {
  const { strings, tag } = useLocale();
  const { now } = strings;
  const aside = usePutAside();
  const [since] = useState(() => new Date(new Date(serverNow()).setHours(0, 0, 0, 0)).toISOString());
  const all = useQuery({
    ...{ queryKey: keys.today('all', since), staleTime },
    queryFn: () => callPage(api.GET('/api/v2/devices', { params: { query: one } })),
  });
  const quota = useQuery({
    queryKey: keys.ownQuota,
    staleTime,
    queryFn: () => call(api.GET('/api/v2/users/me/quota')),
  });
  const devices = useQuery({
    ...{ queryKey: keys.today('devices', since), staleTime },
    queryFn: () => callPage(api.GET('/api/v2/devices', { params: { query: { ...one, q: `last_heard>=${since}` } } })),
  });
  const fired = useQuery({
    ...{ queryKey: keys.today('fired', since), staleTime },
    queryFn: () =>
      callPage(api.GET('/api/v2/notifications', { params: { query: { ...one, q: `last_notification>=${since}` } } })),
  });
  const sent = useQuery({
    ...{ queryKey: keys.today('sent', since), staleTime },
    queryFn: () =>
      callPage(
        api.GET('/api/v2/socials', {
          params: { query: { ...one, q: `status==sent;channel!=none;timestamp>=${since}` } },
        }),
      ),
  });
  const counts = [
    [quota.data?.datapoints_per_day.used, 'dayDatapoints'],
    [devices.data?.total, 'dayDevices'],
    [fired.data?.total, 'dayFired'],
    [sent.data?.total, 'daySent'],
  ] as const;
  const bytes = quota.data?.datapoint_bytes.used;
  const line = (key: string, figure: string | undefined, words: string) => (
    <div key={key} className={classes.line}>
      <dt>{words}</dt>
      <dd>{figure ?? strings.shared.noFigure}</dd>
    </div>
  );
  if (all.data?.total === 0)
    return (
      <EmptyState title={now.noDevices} words={now.noDevicesWords}>
        <Button component={Link} to="/devices">
          {now.begin}
        </Button>
      </EmptyState>
    );
  // Green is shown where it is known, and does not turn.
  if (aside === undefined) return <Skeleton height={320} radius="md" />;
  return (
    <section className={classes.calm}>
      {aside.isWell ? (
        <p className={classes.well}>
          <span className={classes.sign}>
            <Icon name="check" size={28} />
          </span>
          {now.allWell}
        </p>
      ) : (
        <PutAside {...aside} />
      )}
      <h2 className={classes.today}>{now.today}</h2>
      <dl className={classes.lines}>
        {counts.map(([count, key]) =>
          line(key, count === undefined ? undefined : formatNumber(count, tag), now[key](count ?? 0)),
        )}
        {line('dayStored', bytes === undefined ? undefined : sizeText(bytes, tag), now.dayStored)}
      </dl>
    </section>
  );
}
