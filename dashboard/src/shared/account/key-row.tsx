// An API key in a list: what it may do, when it was used last, until when it is good, and its end.

import { Button, Group, Text } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { listed } from '../../strings/listed.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { Age } from '../device/age.tsx';
import classes from '../list/rows.module.css';
import { useNow } from '../page/use-now.ts';

type Key = Schemas['Key'];

export function KeyRow({ record, onRevoke }: { readonly record: Key; readonly onRevoke: () => void }) {
  const { profile } = usePageStrings();
  const nowMs = useNow();
  const { name, scopes, devices, expires, last_used: used } = record;
  const isOver = expires !== undefined && Date.parse(expires) <= nowMs;
  return (
    <li className={classes.row}>
      <div className={classes.words}>
        <Text fw={600}>{name}</Text>
        <Text fz="sm" c="dimmed">
          {(scopes && listed(scopes)) ?? profile.keyEverything} ·{' '}
          {(devices && listed(devices)) ?? profile.keyEveryDevice}
        </Text>
        <Group gap={6} fz="sm" c="dimmed">
          {used === undefined ? (
            profile.keyNeverUsed
          ) : (
            <span>
              {profile.keyUsed} <Age at={used} />
            </span>
          )}
          {expires !== undefined && (
            <span>
              · {isOver ? profile.keyExpired : profile.keyUntil} <Age at={expires} />
            </span>
          )}
        </Group>
      </div>
      <Button
        variant="subtle"
        color="red"
        size="xs"
        flex="none"
        aria-label={profile.keyRevokeNamed(name)}
        onClick={onRevoke}
      >
        {profile.keyRevoke}
      </Button>
    </li>
  );
}
