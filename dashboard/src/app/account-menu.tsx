// Who is signed in, with language, colours, the reference and the way out; a guest finds the way in.
import { Menu, Text, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { factsQuery } from '../api/facts.ts';
import { session } from '../api/session.ts';
import { useSession } from '../api/use-session.ts';
import { Icon } from '../shared/page/icon.tsx';
import { type Language, languages, unreviewed, useLocale } from '../strings/strings.ts';
import classes from './shell.module.css';

export function AccountMenu() {
  const { strings } = useLocale();
  const { shell } = strings;
  const state = useSession();
  const href = useRouterState({ select: ({ location }) => location.href });
  const isUser = state.status === 'user';
  return (
    <>
      {!isUser && (
        <Link to="/sign-in" search={{ next: href }} className={classes.entry}>
          <Icon name="user" />
          {shell.signIn}
        </Link>
      )}
      <Menu position="top-start" width={230} withinPortal>
        <Menu.Target>
          <button type="button" className={classes.entry}>
            {isUser ? (
              <span className={classes.initial} aria-hidden="true">
                {[...state.username][0]?.toUpperCase()}
              </span>
            ) : (
              <Icon name="more" />
            )}
            <span className="d-ellipsis">{isUser ? state.username : shell.settings}</span>
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <MenuEntries />
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

const schemes = { auto: 'schemeAuto', light: 'schemeLight', dark: 'schemeDark' } as const;

function MenuEntries() {
  const { language, strings, choose } = useLocale();
  const { shell } = strings;
  const state = useSession();
  const navigate = useNavigate();
  const { data: facts } = useQuery(factsQuery);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = async () => {
    await session.signOut();
    await navigate({ to: '/devices' });
  };
  const mark = (isChosen: boolean) => (isChosen ? <Icon name="check" size={14} /> : undefined);
  return (
    <>
      <Menu.Label>{shell.language}</Menu.Label>
      {Object.entries(languages).map(([tag, name]) => (
        <Menu.Item key={tag} lang={tag} onClick={() => choose(tag as Language)} rightSection={mark(tag === language)}>
          {name}
          {unreviewed.has(tag) && (
            <Text component="span" lang={language} display="block" fz="xs" c="dimmed">
              {shell.unreviewed}
            </Text>
          )}
        </Menu.Item>
      ))}
      <Menu.Label>{shell.scheme}</Menu.Label>
      {Object.entries(schemes).map(([scheme, label]) => (
        <Menu.Item
          key={scheme}
          onClick={() => setColorScheme(scheme as keyof typeof schemes)}
          rightSection={mark(scheme === colorScheme)}
        >
          {shell[label]}
        </Menu.Item>
      ))}
      <Menu.Divider />
      <Menu.Item component="a" href="/docs" leftSection={<Icon name="book" size={16} />}>
        {shell.reference}
      </Menu.Item>
      {state.status === 'user' && (
        <Menu.Item leftSection={<Icon name="out" size={16} />} onClick={() => void signOut()}>
          {shell.signOut}
        </Menu.Item>
      )}
      {facts !== undefined && <Menu.Label>{shell.version(facts.version)}</Menu.Label>}
    </>
  );
}
