// Making a notification; a device and a sensor may be given in the address.
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { factsQuery } from '../../../api/facts.ts';
import { meQuery } from '../../../api/me.ts';
import { useSession, useUsername } from '../../../api/use-session.ts';
import { PageHeader } from '../../../shared/page/page-header.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import { useReach } from '../reach.ts';
import { newDraft } from './draft.ts';
import { Editor } from './editor.tsx';

const route = getRouteApi('/notifications/new');

/** In the order in which they are offered at first. */
const offered = ['email', 'telegram', 'webhook', 'sms'] as const;

export function NewNotificationPage() {
  const { notifications } = usePageStrings();
  const { device, sensor } = route.useSearch();
  const me = useUsername();
  // What stands in the way of reaching oneself is known before anything can be pressed, so that nothing moves.
  const isUser = useSession().status === 'user';
  const { isLoading } = useQuery({ ...meQuery, enabled: isUser });
  const facts = useQuery(factsQuery);
  const { obstacleOf } = useReach();
  // One that can send; where none can, it is recorded, and the editor says what is missing and who can mend it.
  const channel = (isUser && offered.find((one) => obstacleOf(one, [me]) === undefined)) || 'none';
  return (
    <>
      <PageHeader title={notifications.createTitle} subtitle={notifications.createWords} />
      {isLoading || facts.isLoading ? (
        <Skeleton height={420} />
      ) : (
        <Editor key={`${device} ${sensor} ${me}`} initial={newDraft({ device, sensor, me, channel })} />
      )}
    </>
  );
}
