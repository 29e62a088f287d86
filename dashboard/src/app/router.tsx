// Every address of the dashboard. Pages are loaded when they are first gone to; what stands behind the `?` is parsed
// here by each page's own *-search.ts, so that filters, spans and choices can be shared as addresses. A page reads its
// own by `getRouteApi('/devices/$device')`, which has its types from here.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { loadedFile } from '../api/loaded-file.ts';
import { session } from '../api/session.ts';
import { parseClientsSearch } from '../features/clients/clients-search.ts';
import { parseDeviceSearch } from '../features/device/device-search.ts';
import { parseDevicesSearch } from '../features/devices/devices-search.ts';
import { parseImportSearch } from '../features/imports/import-search.ts';
import {
  parseNewNotificationSearch,
  parseNotificationsSearch,
} from '../features/notifications/list/notifications-search.ts';
import { parseNowSearch } from '../features/now/now-search.ts';
import { parsePlacesSearch } from '../features/places/places-search.ts';
import { parseProfileSearch } from '../features/profile/profile-search.ts';
import { parseProjectSearch } from '../features/projects/project-search.ts';
import { parseSensorSearch } from '../features/sensor/sensor-search.ts';
import { parseSignInSearch } from '../features/sign-in/sign-in-search.ts';
import { parseUsersSearch } from '../features/users/users-search.ts';
import { loadPageStrings, preferredLanguage } from '../strings/strings.ts';
import { NotFound } from './not-found.tsx';
import { PageFault } from './page-fault.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageFault });
const at = <const P extends string>(path: P) => ({ getParentRoute: () => root, path }) as const;

const routeTree = root.addChildren([
  createRoute({
    ...at('/'),
    beforeLoad: () => {
      throw redirect({ to: session.state.status === 'user' ? '/now' : '/devices', replace: true });
    },
  }),
  createRoute({
    ...at('/now'),
    validateSearch: parseNowSearch,
    beforeLoad: requireUser,
    component: lazyRouteComponent(
      loadedFile(() => import('../features/now/now-page.tsx')),
      'NowPage',
    ),
  }),
  createRoute({
    ...at('/devices'),
    validateSearch: parseDevicesSearch,
    component: lazyRouteComponent(
      loadedFile(() => import('../features/devices/devices-page.tsx')),
      'DevicesPage',
    ),
  }),
  createRoute({
    ...at('/devices/$device'),
    validateSearch: parseDeviceSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/device/device-page.tsx')),
      'DevicePage',
    ),
  }),
  createRoute({
    ...at('/devices/$device/sensors/$sensor'),
    validateSearch: parseSensorSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/sensor/sensor-page.tsx')),
      'SensorPage',
    ),
  }),
  createRoute({
    ...at('/map'),
    validateSearch: parsePlacesSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/places/places-page.tsx')),
      'PlacesPage',
    ),
  }),
  createRoute({
    ...at('/notifications'),
    validateSearch: parseNotificationsSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/notifications/list/notifications-page.tsx')),
      'NotificationsPage',
    ),
  }),
  createRoute({
    ...at('/notifications/new'),
    validateSearch: parseNewNotificationSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/notifications/editor/new-notification-page.tsx')),
      'NewNotificationPage',
    ),
  }),
  createRoute({
    ...at('/notifications/$notification'),
    component: lazyRouteComponent(
      withWords(() => import('../features/notifications/editor/notification-page.tsx')),
      'NotificationPage',
    ),
  }),
  createRoute({
    ...at('/gateways'),
    component: lazyRouteComponent(
      withWords(() => import('../features/gateways/gateways-page.tsx')),
      'GatewaysPage',
    ),
  }),
  createRoute({
    ...at('/gateways/$gateway'),
    component: lazyRouteComponent(
      withWords(() => import('../features/gateways/gateway-page.tsx')),
      'GatewayPage',
    ),
  }),
  createRoute({
    ...at('/clients'),
    validateSearch: parseClientsSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/clients/clients-page.tsx')),
      'ClientsPage',
    ),
  }),
  createRoute({
    ...at('/clients/$client'),
    component: lazyRouteComponent(
      withWords(() => import('../features/clients/client-page.tsx')),
      'ClientPage',
    ),
  }),
  createRoute({
    ...at('/projects'),
    component: lazyRouteComponent(
      withWords(() => import('../features/projects/projects-page.tsx')),
      'ProjectsPage',
    ),
  }),
  createRoute({
    ...at('/projects/$project'),
    validateSearch: parseProjectSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/projects/project-page.tsx')),
      'ProjectPage',
    ),
  }),
  createRoute({
    ...at('/users'),
    validateSearch: parseUsersSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/users/users-page.tsx')),
      'UsersPage',
    ),
  }),
  createRoute({
    ...at('/users/$user'),
    component: lazyRouteComponent(
      withWords(() => import('../features/users/user-page.tsx')),
      'UserPage',
    ),
  }),
  createRoute({
    ...at('/nodes'),
    component: lazyRouteComponent(
      withWords(() => import('../features/nodes/nodes-page.tsx')),
      'NodesPage',
    ),
  }),
  createRoute({
    ...at('/profile'),
    validateSearch: parseProfileSearch,
    beforeLoad: requireUser,
    component: lazyRouteComponent(
      withWords(() => import('../features/profile/profile-page.tsx')),
      'ProfilePage',
    ),
  }),
  createRoute({
    ...at('/import'),
    validateSearch: parseImportSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/imports/import-page.tsx')),
      'ImportPage',
    ),
  }),
  createRoute({
    ...at('/sign-in'),
    validateSearch: parseSignInSearch,
    component: lazyRouteComponent(
      withWords(() => import('../features/sign-in/sign-in-page.tsx')),
      'SignInPage',
    ),
  }),
  createRoute({
    ...at('/register'),
    component: lazyRouteComponent(
      withWords(() => import('../features/sign-in/register-page.tsx')),
      'RegisterPage',
    ),
  }),
  createRoute({
    ...at('/forgotten-password'),
    component: lazyRouteComponent(
      withWords(() => import('../features/sign-in/forgotten-page.tsx')),
      'ForgottenPage',
    ),
  }),
  createRoute({
    ...at('/new-password'),
    component: lazyRouteComponent(
      withWords(() => import('../features/sign-in/new-password-page.tsx')),
      'NewPasswordPage',
    ),
  }),
  createRoute({
    ...at('/confirm-email'),
    component: lazyRouteComponent(
      withWords(() => import('../features/sign-in/confirm-email-page.tsx')),
      'ConfirmEmailPage',
    ),
  }),
]);

/** Leads guests to the sign-in, and back here afterwards. */
function requireUser({ location }: { readonly location: { readonly href: string } }): void {
  if (session.state.status !== 'user') throw redirect({ to: '/sign-in', search: { next: location.href } });
}

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: PageFault,
});

/** The file of a page with the words of the pages beyond the first, side by side. */
function withWords<T>(load: () => Promise<T>): () => Promise<T> {
  return loadedFile(async () => (await Promise.all([load(), loadPageStrings(preferredLanguage())]))[0]);
}

/** Fetches the file of the page that the address names, while it is still found out who asks. */
export function fetchPage(): void {
  const { latestLocation: asked } = router;
  const home = session.isExpected ? '/now' : '/devices';
  const location = asked.pathname === '/' ? router.buildLocation({ to: home }) : asked;
  // Where it cannot be had, the page says so when it is shown.
  for (const { routeId } of router.matchRoutes(location)) {
    const route = router.routesById[routeId];
    if (route !== undefined) router.loadRouteChunk(route)?.catch(() => undefined);
  }
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
