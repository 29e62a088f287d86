// The browsers that are signed in as a user, each with its end, and the end of all. On the profile page for oneself, on
// the page of a user for admins. Ending the sign-in of this browser signs out here.
import { Badge, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { session } from '../../api/session.ts';
import { useUsername } from '../../api/use-session.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { Age } from '../device/age.tsx';
import { ConfirmDanger } from '../form/confirm-danger.tsx';
import classes from '../list/rows.module.css';
import { RowsSkeleton } from '../list/rows-skeleton.tsx';
import { ProblemNotice, problemWords } from '../page/problem-notice.tsx';
import { Section } from '../page/section.tsx';
import { toasts } from '../page/toasts.tsx';
import { browserOf } from './browser-name.ts';

type SignIn = Schemas['Session'];

export const sessionsQuery = (user: string) =>
  queryOptions({
    queryKey: keys.userSessions(user),
    queryFn: () => call(api.GET('/api/v2/users/{user}/sessions', { params: { path: { user } } })),
  });

export function SignIns({ user }: { readonly user: Schemas['User'] }) {
  const strings = usePageStrings();
  const { signIns } = strings;
  const isOwn = user.username === useUsername();
  const [isAsking, { open, close }] = useDisclosure(false);
  const { data, error, refetch } = useQuery(sessionsQuery(user.id));
  const navigate = useNavigate();
  const queries = useQueryClient();
  const endAll = async () => {
    const end = () => call(api.DELETE('/api/v2/users/{user}/sessions', { params: { path: { user: user.id } } }));
    // Away first: this page would ask on with a token that is good for nothing any more. A fault is told on the next.
    if (isOwn) {
      await navigate({ to: '/devices' });
      return end().then(
        () => session.signOut(),
        (fault) => void toasts.show({ text: problemWords(fault, strings) }),
      );
    }
    await end();
    await queries.invalidateQueries({ queryKey: keys.userSessions(user.id) });
    toasts.show({ text: signIns.endedAll(user.username) });
  };
  // Of others only where there is something to end.
  const hasPlace = isOwn || (data !== undefined && data.length > 0);
  return (
    <Section
      title={signIns.title}
      words={isOwn ? signIns.ownWords : signIns.wordsOf(user.username)}
      actions={
        hasPlace && (
          <Button
            variant="default"
            flex="none"
            {...(isOwn ? {} : { 'aria-label': signIns.endAllOf(user.username) })}
            onClick={open}
          >
            {isOwn ? signIns.everywhere : signIns.endAll}
          </Button>
        )
      }
    >
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsSkeleton rows={1} />}
      {data?.length === 0 && <Text c="dimmed">{signIns.none}</Text>}
      <ul className={classes.list} aria-label={signIns.list}>
        {data?.map((record) => (
          <SessionRow key={record.id} record={record} user={user.id} isOwn={isOwn} />
        ))}
      </ul>
      <ConfirmDanger
        isOpen={isAsking}
        onClose={close}
        title={isOwn ? signIns.everywhereQuestion : signIns.endAllQuestion(user.username)}
        words={isOwn ? signIns.everywhereWords : signIns.endAllWords(user.username)}
        action={isOwn ? signIns.everywhere : signIns.endAll}
        onConfirm={endAll}
      />
    </Section>
  );
}

/** Goes where nobody needs to be signed in, and signs out. */
function useLeave(): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    await navigate({ to: '/devices' });
    await session.signOut();
  };
}

interface SessionRowProps {
  readonly record: SignIn;
  readonly user: string;
  readonly isOwn: boolean;
}

function SessionRow({ record, user, isOwn }: SessionRowProps) {
  const strings = usePageStrings();
  const { signIns } = strings;
  const [isEnding, setEnding] = useState(false);
  const leave = useLeave();
  const queries = useQueryClient();
  const name = nameOf(record, strings);
  const end = async () => {
    setEnding(true);
    try {
      if (record.current) return await leave();
      await call(
        api.DELETE('/api/v2/users/{user}/sessions/{session}', { params: { path: { user, session: record.id } } }),
      );
      await queries.invalidateQueries({ queryKey: keys.userSessions(user) });
      toasts.show({ text: signIns.signedOut(name) });
    } catch (error) {
      toasts.show({ text: problemWords(error, strings) });
    } finally {
      setEnding(false);
    }
  };
  return (
    <li className={classes.row}>
      <div className={classes.words}>
        <Group gap={8}>
          <Text fw={600} title={record.user_agent ?? ''}>
            {name}
          </Text>
          {record.current && (
            <Badge size="sm" variant="light" tt="none">
              {signIns.current}
            </Badge>
          )}
        </Group>
        <Group gap="0 6px" fz="sm" c="dimmed">
          <span>
            {signIns.begun} <Age at={record.date_created} />
          </span>
          <span>
            · {signIns.used} <Age at={record.last_used} />
          </span>
          {record.address !== undefined && <span>· {signIns.from(record.address)}</span>}
        </Group>
      </div>
      <Button
        variant="subtle"
        color="red"
        size="xs"
        flex="none"
        loading={isEnding}
        aria-label={(isOwn ? signIns.signOutOf : signIns.endOf)(record.current ? signIns.current : name)}
        onClick={() => void end()}
      >
        {isOwn ? signIns.signOut : signIns.end}
      </Button>
    </li>
  );
}

function nameOf({ user_agent: agent = '' }: SignIn, { signIns }: Strings): string {
  const { browser, system } = browserOf(agent);
  // What names no browser we know, such as a program, is shown as it names itself.
  if (browser === undefined) return agent.slice(0, 60) || signIns.unknown;
  return system === undefined ? browser : signIns.browserOn(browser, system);
}
