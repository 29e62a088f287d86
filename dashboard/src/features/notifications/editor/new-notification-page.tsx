// Making a notification; a device and a sensor may be given in the address.
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { meQuery } from '../../../api/me.ts';
import { useSession, useUsername } from '../../../api/use-session.ts';
import { PageHeader } from '../../../shared/page/page-header.tsx';
import { useStrings } from '../../../strings/strings.ts';
import { newDraft } from './draft.ts';
import { Editor } from './editor.tsx';

const route = getRouteApi('/notifications/new');

export function NewNotificationPage() {
  const { notifications } = useStrings();
  const { device, sensor } = route.useSearch();
  const me = useUsername();
  // What stands in the way of reaching oneself is known before anything can be pressed, so that nothing moves.
  const { isLoading } = useQuery({ ...meQuery, enabled: useSession().status === 'user' });
  return (
    <>
      <PageHeader title={notifications.createTitle} subtitle={notifications.createWords} />
      {isLoading ? (
        <Skeleton height={420} />
      ) : (
        <Editor key={`${device} ${sensor} ${me}`} initial={newDraft({ device, sensor, me })} />
      )}
    </>
  );
}
