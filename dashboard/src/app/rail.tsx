// The rail at the left of a desktop.
import { Link, useRouterState } from '@tanstack/react-router';
import { useSession } from '../api/use-session.ts';
import { Icon } from '../shared/page/icon.tsx';
import { useStrings } from '../strings/strings.ts';
import { AccountMenu } from './account-menu.tsx';
import { mainPages, type Page, personalPages } from './pages.ts';
import { openSearch } from './search-state.ts';
import classes from './shell.module.css';
import { AlarmBadge } from './unseen-alarms.tsx';

export function Rail() {
  const { shell } = useStrings();
  const state = useSession();
  return (
    <nav className={classes.rail} aria-label={shell.navigation}>
      <Link to="/" className={classes.brand}>
        <img src="/drum.svg" alt="" width={26} height={26} />
        Dundun
      </Link>
      <button type="button" className={classes.entry} onClick={openSearch}>
        <Icon name="search" />
        {shell.search}
        <kbd>/</kbd>
      </button>
      {mainPages(state).map((page) => (
        <Entry key={page.to} page={page} />
      ))}
      <div className={classes.gap} />
      {personalPages(state).map((page) => (
        <Entry key={page.to} page={page} />
      ))}
      <AccountMenu />
    </nav>
  );
}

export function Entry({ page: { to, label, icon } }: { readonly page: Page }) {
  const { shell } = useStrings();
  const href = useRouterState({ select: ({ location }) => location.href });
  // Who signs in comes back.
  const search = to === '/sign-in' ? { search: { next: href } } : {};
  return (
    <Link to={to} {...search} className={classes.entry} activeOptions={{ includeSearch: false }}>
      <Icon name={icon} />
      <span>{shell[label]}</span>
      {to === '/now' && <AlarmBadge />}
    </Link>
  );
}
