// What has happened around a device, in one list by time.
import { Text } from '@mantine/core';
import { Age } from '../../../shared/device/age.tsx';
import { Icon } from '../../../shared/page/icon.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import classes from './activity.module.css';
import { type ActivityParts, type Happening, useActivity } from './use-activity.ts';

export function Activity(parts: ActivityParts) {
  const { device: words } = usePageStrings();
  const { list, error, retry } = useActivity(parts);
  return (
    <>
      <Text c="dimmed" fz="sm" mb="sm">
        {words.activityWords}
      </Text>
      {error !== null && <ProblemNotice error={error} retry={retry} />}
      <ol className={classes.list} aria-label={words.activity}>
        {list.map((happening) => (
          <Row key={happening.id} happening={happening} />
        ))}
      </ol>
    </>
  );
}

function Row({ happening }: { readonly happening: Happening }) {
  const { atMs, icon, title, detail, isBad = false } = happening;
  return (
    <li className={classes.row}>
      <span className={classes.icon} data-bad={isBad || undefined}>
        <Icon name={icon} size={16} />
      </span>
      <span className={classes.words}>
        <span className="d-clamp" title={title}>
          {title}
        </span>
        {detail !== undefined && <span className={classes.detail}>{detail}</span>}
      </span>
      <Age at={new Date(atMs).toISOString()} quiet />
    </li>
  );
}
