// Devices that others made one's own: for some weeks each can be given back as it was, or shared again as it was. Nothing
// is shown where there are none.
import { Anchor, Button, Group, Text } from '@mantine/core';
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Age } from '../../shared/device/age.tsx';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import classes from '../../shared/list/rows.module.css';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';

type Entry = Schemas['Received'];
type Act = 'keep' | 'giveBack';

export const receivedQuery = queryOptions({
  queryKey: keys.received,
  queryFn: () => call(api.GET('/api/v2/users/me/received')),
});

export function Received({ entries }: { readonly entries: readonly Entry[] }) {
  const { received } = usePageStrings();
  const [asked, setAsked] = useState<{ readonly entry: Entry; readonly act: Act }>();
  const close = () => setAsked(undefined);
  return (
    <>
      {entries.length > 0 && (
        <Section title={received.title} words={received.words}>
          <ul className={classes.list} aria-label={received.list}>
            {entries.map((entry) => (
              <Row key={entry.device} entry={entry} onAct={(act) => setAsked({ entry, act })} />
            ))}
          </ul>
        </Section>
      )}
      {/* Outside, so that it closes as it does elsewhere when the last entry goes. */}
      <Keep entry={asked?.act === 'keep' ? asked.entry : undefined} onClose={close} />
      <GiveBack entry={asked?.act === 'giveBack' ? asked.entry : undefined} onClose={close} />
    </>
  );
}

function Row({ entry, onAct }: { readonly entry: Entry; readonly onAct: (act: Act) => void }) {
  const { received } = usePageStrings();
  const names = useNames(entry);
  const title = titleOf(entry);
  return (
    <li className={classes.row}>
      <div className={classes.words}>
        <Anchor component={Link} to="/devices/$device" params={{ device: entry.device } as never} fw={600}>
          {title}
        </Anchor>
        <Group gap="0 6px" fz="sm" c="dimmed">
          <span>{entry.from === undefined ? received.fromNobody : received.from(entry.from)}</span>
          <span>
            · <Age at={entry.date_received} />
          </span>
          <span>
            · {received.until} <Age at={entry.expires} />
          </span>
        </Group>
        <Text fz="sm" c="dimmed">
          {entry.shares.length === 0 ? received.noShares : received.shares(names)}
        </Text>
      </div>
      <Group gap="xs" justify="flex-end">
        {entry.shares.length > 0 && (
          <Button variant="default" size="xs" aria-label={received.keepOf(title)} onClick={() => onAct('keep')}>
            {received.keep}
          </Button>
        )}
        {entry.from !== undefined && (
          <Button
            variant="subtle"
            color="red"
            size="xs"
            aria-label={received.giveBackOf(title)}
            onClick={() => onAct('giveBack')}
          >
            {received.giveBack}
          </Button>
        )}
      </Group>
    </li>
  );
}

interface QuestionProps {
  readonly entry: Entry | undefined;
  readonly onClose: () => void;
}

function Keep({ entry, onClose }: QuestionProps) {
  const { received } = usePageStrings();
  const names = useNames(entry);
  const refresh = useRefresh();
  const keep = async () => {
    if (entry === undefined) return;
    const params = { path: { device: entry.device } };
    await call(api.PUT('/api/v2/users/me/received/{device}', { params, body: { shares: 'keep' } }));
    await refresh(entry);
    toasts.show({ text: received.kept(titleOf(entry)) });
  };
  return (
    <ConfirmDanger
      isHarmless
      isOpen={entry !== undefined}
      onClose={onClose}
      title={received.keepQuestion(titleOf(entry))}
      words={received.keepWords(names)}
      action={received.keep}
      onConfirm={keep}
    />
  );
}

function GiveBack({ entry, onClose }: QuestionProps) {
  const { received } = usePageStrings();
  const refresh = useRefresh();
  const giveBack = async () => {
    if (entry?.from === undefined) return;
    await call(api.DELETE('/api/v2/users/me/received/{device}', { params: { path: { device: entry.device } } }));
    await refresh(entry);
    toasts.show({ text: received.givenBack(titleOf(entry), entry.from) });
  };
  return (
    <ConfirmDanger
      isOpen={entry !== undefined}
      onClose={onClose}
      title={received.giveBackQuestion(titleOf(entry))}
      words={received.giveBackWords(entry?.from ?? '')}
      action={received.giveBack}
      onConfirm={giveBack}
    />
  );
}

/** All that shows who owns the device, or who it is shared with, is read again. */
function useRefresh(): (entry: Entry) => Promise<void> {
  const queries = useQueryClient();
  return async ({ device }) => {
    const stale = [keys.received, keys.allShares, keys.devices, keys.device(device)];
    await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
}

function titleOf(entry: Entry | undefined): string {
  return entry?.name || entry?.device || '';
}

function useNames(entry: Entry | undefined): string {
  const { tag } = usePageLocale();
  return new Intl.ListFormat(tag).format(entry?.shares.map(({ username }) => username) ?? []);
}
