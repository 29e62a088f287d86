// The messages that were sent, wait, or could not go, newest first, with the reason and what to do.
import { Chip, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { api, callPage } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import type { components } from '../../../api/schema.generated.ts';
import { Age } from '../../../shared/device/age.tsx';
import { ChoiceChips } from '../../../shared/list/choice-chips.tsx';
import { reasonWords } from '../../../shared/message-reason.ts';
import { EmptyState } from '../../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import { adviceOn } from '../editor/rule-parts.tsx';
import type { Channel } from '../editor/tell.tsx';
import { messageStates, type NotificationsSearch } from '../list/notifications-search.ts';
import classes from '../rules.module.css';

type Message = components['schemas']['SocialMessage'];

export function Outbox({ search }: { readonly search: NotificationsSearch }) {
  const { notifications } = usePageStrings();
  const { status, of } = search;
  const conditions = [
    ...(status === undefined ? [] : [`status==${status}`]),
    ...(of === undefined ? [] : [`notification==${of}`]),
  ];
  const query = { ...(conditions.length === 0 ? {} : { q: conditions.join(';') }), limit: 100, offset: 0 };
  const { data, error, refetch } = useQuery({
    queryKey: keys.messages(query),
    refetchInterval: 10_000,
    queryFn: () => callPage(api.GET('/api/v2/socials', { params: { query } })),
  });
  return (
    <>
      <Filters search={search} />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={320} />}
      {data?.total === 0 && <EmptyState title={notifications.outboxEmpty} words={notifications.outboxEmptyWords} />}
      <ul className={classes.list} aria-label={notifications.outbox}>
        {data?.page.map((message) => (
          <MessageRow key={message.id} message={message} />
        ))}
      </ul>
      {data !== undefined && data.total > data.page.length && (
        <p className="d-quiet">{notifications.outboxMore(data.total - data.page.length)}</p>
      )}
    </>
  );
}

function Filters({ search }: { readonly search: NotificationsSearch }) {
  const { notifications } = usePageStrings();
  const navigate = useNavigate();
  const change = (changed: NotificationsSearch) =>
    void navigate({ to: '/notifications', search: { ...search, ...changed }, replace: true });
  return (
    <Group gap={6} mb="md" role="group" aria-label={notifications.outboxFilters}>
      <ChoiceChips
        choices={messageStates}
        words={notifications.messageStates}
        chosen={search.status}
        onChoose={(status) => change({ status })}
      />
      {search.of !== undefined && (
        <Chip size="sm" variant="outline" checked onChange={() => change({ of: undefined })}>
          {notifications.ofOne}
        </Chip>
      )}
    </Group>
  );
}

function MessageRow({ message }: { readonly message: Message }) {
  const strings = usePageStrings();
  const { notifications } = strings;
  const { status, channel, username, timestamp, reason, notification } = message;
  const isBad = status === 'failed' || status === 'undelivered';
  return (
    <li className={classes.message}>
      <span className={classes.state} data-state={status}>
        {notifications.messageStates[status === 'sent' && channel === 'none' ? 'recorded' : status]}
      </span>
      <span>
        {username} <span className="d-quiet">{notifications.channels[channel as Channel] ?? channel}</span>
      </span>
      <span className={classes.body}>
        {notification === undefined ? (
          message.message
        ) : (
          <Link to="/notifications/$notification" params={{ notification }} className={classes.plainLink}>
            {message.message}
          </Link>
        )}
        {reason !== undefined && (
          <div className={isBad ? classes.failure : `${classes.reason} d-quiet`}>
            {reasonWords(reason, strings)}. {isBad && <b>{adviceOn(reason, notifications)}</b>}
          </div>
        )}
      </span>
      <span className={classes.when}>
        <Age at={timestamp} quiet />
      </span>
    </li>
  );
}
