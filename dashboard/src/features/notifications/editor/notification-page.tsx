// A notification: how it stands, and the editor of its sentence.
import { Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { unlessGone } from '../../../api/api-problem.ts';
import { api, call } from '../../../api/client.ts';
import { meQuery } from '../../../api/me.ts';
import { namedDevicesQuery } from '../../../api/named-devices.ts';
import { keys } from '../../../api/query-keys.ts';
import { useSession } from '../../../api/use-session.ts';
import { Icon } from '../../../shared/page/icon.tsx';
import { PageHeader } from '../../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import { useRuleActs } from '../list/rule-acts.ts';
import { type Rule, toDraft } from './draft.ts';
import classes from './editor.module.css';
import { Editor } from './editor.tsx';
import { Failure, LastFired, NextPossible, RuleState, StatusSwitch } from './rule-parts.tsx';

const route = getRouteApi('/notifications/$notification');

export function NotificationPage() {
  const path = route.useParams();
  const {
    data: answered,
    error,
    refetch,
  } = useQuery({
    queryKey: keys.notification(path.notification),
    queryFn: () => call(api.GET('/api/v2/notifications/{notification}', { params: { path } })),
  });
  const known = unlessGone(answered, error);
  const about = useQuery(namedDevicesQuery(known?.condition.devices ?? []));
  const me = useQuery({ ...meQuery, enabled: useSession().status === 'user' });
  // The sentence names its devices and sensors at once, and what stands in the way of reaching oneself: nothing moves while
  // it is read.
  const data = about.isLoading || me.isLoading ? undefined : known;
  const title = data?.description || path.notification;
  return (
    <>
      <PageHeader
        title={title}
        subtitle={data?.description === undefined ? undefined : path.notification}
        actions={data !== undefined && <Acts rule={data} />}
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={420} />}
      {data !== undefined && (
        <>
          <History rule={data} />
          <Editor key={path.notification} id={path.notification} initial={toDraft(data)} />
        </>
      )}
    </>
  );
}

function Acts({ rule }: { readonly rule: Rule }) {
  const { notifications, shared } = usePageStrings();
  const { remove } = useRuleActs();
  const navigate = useNavigate();
  return (
    <Group gap="sm">
      <StatusSwitch rule={rule} label={notifications.active} />
      <Button component={Link} to="/notifications" search={{ view: 'outbox', of: rule.id } as never} variant="default">
        {notifications.itsMessages}
      </Button>
      <Button
        variant="default"
        leftSection={<Icon name="trash" />}
        onClick={() => {
          remove(rule);
          void navigate({ to: '/notifications' });
        }}
      >
        {shared.remove}
      </Button>
    </Group>
  );
}

function History({ rule }: { readonly rule: Rule }) {
  const { notifications } = usePageStrings();
  return (
    <>
      <dl className={classes.history}>
        <div>
          <dt>{notifications.state}</dt>
          <dd>
            <RuleState rule={rule} />
          </dd>
        </div>
        <div>
          <dt>{notifications.timesFired}</dt>
          <dd>{rule.times_sent}</dd>
        </div>
        <div>
          <dt>{notifications.lastFired}</dt>
          <dd>
            <LastFired rule={rule} />
          </dd>
        </div>
        <div>
          <dt>{notifications.nextPossible}</dt>
          <dd>
            <NextPossible rule={rule} />
          </dd>
        </div>
      </dl>
      <Failure rule={rule} />
    </>
  );
}
