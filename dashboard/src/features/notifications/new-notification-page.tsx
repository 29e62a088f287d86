// Making a notification; a device and a sensor may be given in the address.
import { getRouteApi } from '@tanstack/react-router';
import { useUsername } from '../../api/use-session.ts';
import { PageHeader } from '../../shared/page-header.tsx';
import { useStrings } from '../../strings/strings.ts';
import { newDraft } from './draft.ts';
import { Editor } from './editor.tsx';

const route = getRouteApi('/notifications/new');

export function NewNotificationPage() {
  const { notifications } = useStrings();
  const { device, sensor } = route.useSearch();
  const me = useUsername();
  return (
    <>
      <PageHeader title={notifications.createTitle} subtitle={notifications.createWords} />
      <Editor key={`${device} ${sensor} ${me}`} initial={newDraft({ device, sensor, me })} />
    </>
  );
}
