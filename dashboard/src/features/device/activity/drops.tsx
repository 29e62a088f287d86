// The drop log of a device: MQTT messages that could not be stored, and why.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import { Age } from '../../../shared/device/age.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { dropWords } from '../../../shared/service-reason.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import classes from '../section.module.css';

export function Drops({ device }: { readonly device: string }) {
  const strings = usePageStrings();
  const { device: words } = strings;
  const { data, error } = useQuery({
    queryKey: keys.drops(device),
    queryFn: () => call(api.GET('/api/v2/devices/{device}/drops', { params: { path: { device } } })),
  });
  return (
    <>
      <Text c="dimmed" fz="sm" mb="sm">
        {words.dropsWords}
      </Text>
      {error !== null && <ProblemNotice error={error} />}
      {data?.length === 0 && <Text>{words.dropsNone}</Text>}
      <ul className={classes.list}>
        {data?.map(({ timestamp, topic, username, reason }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: drops have no id; the list is read whole.
          <li key={index}>
            <Text fw={600}>{dropWords(reason, strings)}</Text>
            <Text fz="sm" c="dimmed">
              {topic} · {username} · <Age at={timestamp} />
            </Text>
          </li>
        ))}
      </ul>
    </>
  );
}
