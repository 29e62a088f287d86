// The pages one goes to by the rail, the bar of a phone, and the search; in the order in which they are shown.
import type { SessionState } from '../api/session.ts';
import type { IconName } from '../shared/page/icon.tsx';
import type { Strings } from '../strings/catalogue.ts';

export interface Page {
  readonly to:
    | '/now'
    | '/devices'
    | '/map'
    | '/notifications'
    | '/gateways'
    | '/clients'
    | '/projects'
    | '/users'
    | '/nodes'
    | '/profile'
    | '/import'
    | '/sign-in';
  readonly label: keyof Strings['shell'] &
    (
      | 'now'
      | 'devices'
      | 'map'
      | 'notifications'
      | 'gateways'
      | 'clients'
      | 'projects'
      | 'users'
      | 'nodes'
      | 'profile'
      | 'import'
      | 'signIn'
    );
  readonly icon: IconName;
}

/** The pages for everybody. What is wrong now is for who is signed in: guests see no alarms. */
export function mainPages(state: SessionState): readonly Page[] {
  return state.status === 'user' ? [{ to: '/now', label: 'now', icon: 'bell' }, ...openPages] : openPages;
}

const openPages: readonly Page[] = [
  { to: '/devices', label: 'devices', icon: 'devices' },
  { to: '/map', label: 'map', icon: 'map' },
  { to: '/notifications', label: 'notifications', icon: 'message' },
  { to: '/gateways', label: 'gateways', icon: 'gateway' },
  { to: '/projects', label: 'projects', icon: 'project' },
];

const adminPages: readonly Page[] = [
  { to: '/users', label: 'users', icon: 'users' },
  { to: '/nodes', label: 'nodes', icon: 'server' },
];

/** Those below, by who is signed in. */
export function personalPages(state: SessionState): readonly Page[] {
  const isUser = state.status === 'user';
  return [
    { to: '/import', label: 'import', icon: 'import' },
    ...(isUser ? ([{ to: '/clients', label: 'clients', icon: 'link' }] as const) : []),
    ...(isUser && state.isAdmin ? adminPages : []),
    ...(isUser ? ([{ to: '/profile', label: 'profile', icon: 'user' }] as const) : []),
  ];
}

export const signInPage: Page = { to: '/sign-in', label: 'signIn', icon: 'user' };
