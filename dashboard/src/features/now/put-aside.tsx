// What is wrong although no alarm is open: alarms that somebody has snoozed, and devices that are silent without an alarm, because
// they were silent before the service listened or have been heard too seldom. Each leads to where it stands.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { alarmsQuery, useSilentSensors } from '../../api/alarms.ts';
import { api, callPage } from '../../api/client.ts';
import { dayKey, daySinceHeard } from '../../api/devices.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { deviceState } from '../../shared/device/device-state.ts';
import { Icon } from '../../shared/page/icon.tsx';
import { useLocale } from '../../strings/strings.ts';
import classes from './now.module.css';
import { questions } from './now-search.ts';

interface Aside {
  readonly isWell: boolean;
  readonly snoozed: number;
  /** When the first of them ends. */
  readonly until: string | undefined;
  readonly silent: number;
  /** Whose they are: one's own, those shared with one, or both. */
  readonly silentOf: { readonly owner?: string; readonly shared?: true };
}

/** Undefined until it is known. */
export function usePutAside(): Aside | undefined {
  const snoozed = useQuery(alarmsQuery(questions.snoozed)).data;
  const state = useSession();
  const [me, isAdmin] = state.status === 'user' ? [state.username, state.isAdmin] : ['', false];
  const own = useSilent(isAdmin ? 'all' : 'own', isAdmin ? {} : { q: `owner==${filterValue(me)};` });
  const shared = useSilent('shared', { shared: true }, !isAdmin);
  const others = isAdmin ? 0 : shared;
  if (snoozed === undefined || own === undefined || others === undefined) return undefined;
  const ends = snoozed.page.flatMap(({ snoozed_until: until }) => until ?? []).toSorted();
  const silent = own + others;
  return {
    isWell: snoozed.total === 0 && silent === 0,
    ...{ snoozed: snoozed.total, until: ends[0], silent },
    silentOf: isAdmin || (own > 0 && others > 0) ? {} : own > 0 ? { owner: me } : { shared: true },
  };
}

/** How many are silent beyond their habit, but for those of which an alarm says it. */
function useSilent(whose: string, of: { readonly q?: string; readonly shared?: true }, isAsked = true) {
  const alarmed = useSilentSensors();
  const { data } = useQuery({
    queryKey: keys.silentOf(whose),
    refetchInterval: limits.alarmsReadMs,
    enabled: isAsked,
    queryFn: () => {
      // Those heard last first: a slow habit is more likely theirs.
      const page = { order: '-heard', limit: limits.silentLookedAtMax, offset: 0 } as const;
      const query = { ...of, ...page, q: `${of.q ?? ''}last_heard<${daySinceHeard()}` };
      return callPage(api.GET('/api/v2/devices', { params: { query } }));
    },
  });
  if (data === undefined) return undefined;
  const nowMs = serverNow();
  const others = data.page.filter(
    (device) =>
      deviceState(device, { nowMs, silent: alarmed }) !== 'silent' ||
      device.sensors.some(({ id }) => alarmed.has(dayKey(device.id, id))),
  );
  return data.total - others.length;
}

export function PutAside({ snoozed, until, silent, silentOf }: Aside) {
  const { strings, tag } = useLocale();
  const { now } = strings;
  const time = until && new Date(until).toLocaleString(tag, { dateStyle: 'medium', timeStyle: 'short' });
  return (
    <>
      <p className={classes.well}>{now.noneOpen}</p>
      <ul className={classes.aside}>
        {snoozed > 0 && (
          <li>
            <Icon name="moon" size={20} />
            <span>
              <Link to="/now" search={{ view: 'snoozed' }}>
                {now.snoozedOnly(snoozed)}
              </Link>
              {time !== undefined && ` · ${snoozed === 1 ? now.snoozedUntil(time) : now.firstUntil(time)}`}
            </span>
          </li>
        )}
        {silent > 0 && (
          <li>
            <Icon name="sensor" size={20} />
            <Link to="/devices" search={{ ...silentOf, silent: true }}>
              {now.silentDevices(silent)}
            </Link>
          </li>
        )}
      </ul>
    </>
  );
}
