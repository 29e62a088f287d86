// What stands around every page: the rail at the left of a desktop, the bar at the foot of a phone, the search, the
// word that there is no connection; and where the focus goes when the page changes.
import { Outlet, useLocation, useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useSession } from '../api/use-session.ts';
import { idPattern } from '../shared/form/id-pattern.ts';
import { toasts } from '../shared/page/toasts.tsx';
import { useStrings } from '../strings/strings.ts';
import { NotFound } from './not-found.tsx';
import { OfflineBanner } from './offline-banner.tsx';
import { PhoneBar } from './phone-bar.tsx';
import { Rail } from './rail.tsx';
import { Search } from './search.tsx';
import classes from './shell.module.css';
import { TitleBadge } from './unseen-alarms.tsx';

/** Pages that stand before the dashboard. */
const barePages = ['/sign-in', '/register', '/forgotten-password', '/new-password', '/confirm-email'];

export function Shell() {
  const { shell } = useStrings();
  const { pathname } = useLocation();
  const isBare = barePages.includes(pathname);
  const isNowhere = leadsNowhere(useParams({ strict: false }));
  useFocusOnNavigation(pathname);
  useWordOnEnd();
  return (
    <>
      <a className={classes.skip} href="#content">
        {shell.skip}
      </a>
      {!isBare && <Rail />}
      <OfflineBanner />
      <main id="content" tabIndex={-1} className={isBare ? classes.bare : classes.content}>
        {isNowhere ? <NotFound /> : <Outlet />}
      </main>
      {!isBare && <PhoneBar />}
      <Search />
      <TitleBadge />
    </>
  );
}

/** What no record can be called: its page would only have the refusal of the service to show. */
function leadsNowhere(params: Readonly<Record<string, string | undefined>>): boolean {
  return [params['device'], params['sensor'], params['gateway']].some((id) => id !== undefined && !idPattern.test(id));
}

/** A session that is over is no silent change of what one sees. */
function useWordOnEnd(): void {
  const { shell } = useStrings();
  const state = useSession();
  const hasEnded = state.status === 'guest' && state.hasEnded;
  useEffect(() => {
    if (hasEnded) toasts.show({ text: shell.sessionEnded });
  }, [hasEnded, shell]);
}

/** To the head of the new page, so that screen readers begin there; not on the first one. */
function useFocusOnNavigation(pathname: string): void {
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    // The page may still be on its way: then its content takes the focus.
    const head = document.getElementById('page-title') ?? document.getElementById('content');
    if (document.activeElement === document.body || document.activeElement?.closest('nav') !== null) {
      head?.focus({ preventScroll: true });
    }
  }, [pathname]);
}
