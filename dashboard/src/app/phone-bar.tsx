// The bar at the foot of a phone: four pages, and a menu with the search, the other pages and the account.
import { Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useSession } from '../api/use-session.ts';
import { Icon } from '../shared/page/icon.tsx';
import { useStrings } from '../strings/strings.ts';
import { AccountMenu } from './account-menu.tsx';
import { mainPages, personalPages, signInPage } from './pages.ts';
import { Entry } from './rail.tsx';
import { openSearch } from './search-state.ts';
import classes from './shell.module.css';

const barMax = 4;

export function PhoneBar() {
  const { shell, shared } = useStrings();
  const state = useSession();
  const { pathname } = useLocation();
  const pages = mainPages(state);
  // Guests find the way in where the thumb is.
  const inBar = state.status === 'user' ? pages.slice(0, barMax) : [...pages.slice(0, barMax - 1), signInPage];
  const others = pages.filter((page) => !inBar.includes(page));
  const [isOpen, { open, close }] = useDisclosure(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when one has gone somewhere.
  useEffect(close, [pathname]);
  return (
    <nav className={classes.bar} aria-label={shell.navigation}>
      {inBar.map((page) => (
        <Entry key={page.to} page={page} />
      ))}
      <button type="button" className={classes.entry} onClick={open} aria-haspopup="dialog">
        <Icon name="menu" />
        <span>{shell.more}</span>
      </button>
      <Drawer
        opened={isOpen}
        onClose={close}
        position="bottom"
        size="auto"
        classNames={{ content: classes.sheet ?? '' }}
        title={shell.more}
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        <button
          type="button"
          className={classes.entry}
          onClick={() => {
            close();
            openSearch();
          }}
        >
          <Icon name="search" />
          {shell.search}
        </button>
        {[...others, ...personalPages(state)].map((page) => (
          <Entry key={page.to} page={page} />
        ))}
        <AccountMenu />
      </Drawer>
    </nav>
  );
}
