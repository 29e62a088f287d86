// What is wrong beside the alarms that are open: alarms that somebody has snoozed, and devices that are silent without an alarm,
// because they were silent before the service listened or have been heard too seldom. Each leads to where it stands.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { alarmsQuery, useSilentSensors } from '../../api/alarms.ts';
import { api, callPage, type Device } from '../../api/client.ts';
import { dayKey, daySinceHeard } from '../../api/devices.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { AlarmEntry } from '../../shared/alarm/alarm-entry.tsx';
import { Age } from '../../shared/device/age.tsx';
import { deviceState, lastHeard } from '../../shared/device/device-state.ts';
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
  /** The first of them, those heard last first. */
  readonly first: readonly Device[];
  /** Whose they are: one's own, those shared with one, or both. */
  readonly silentOf: { readonly owner?: string; readonly shared?: true };
}

/** Undefined until it is known. */
export function usePutAside(): Aside | undefined {
  const snoozed = useQuery(alarmsQuery(questions.snoozed)).data;
  const silent = useSilentDevices().known;
  if (snoozed === undefined || silent === undefined) return undefined;
  const ends = snoozed.page.flatMap(({ snoozed_until: until }) => until ?? []).toSorted();
  const isWell = snoozed.total === 0 && silent.silent === 0;
  return { isWell, snoozed: snoozed.total, until: ends[0], ...silent };
}

type SilentDevices = Pick<Aside, 'silent' | 'first' | 'silentOf'>;

/** Devices that are silent though no alarm says it; `isComing` while that is being asked for. */
export function useSilentDevices(): { readonly known: SilentDevices | undefined; readonly isComing: boolean } {
  const state = useSession();
  const [me, isAdmin] = state.status === 'user' ? [state.username, state.isAdmin] : ['', false];
  const own = useSilent(isAdmin ? 'all' : 'own', isAdmin ? {} : { q: `owner==${filterValue(me)};` });
  const shared = useSilent('shared', { shared: true }, !isAdmin);
  const isComing = own.isComing || (!isAdmin && shared.isComing);
  const others = isAdmin ? none : shared.known;
  if (own.known === undefined || others === undefined) return { known: undefined, isComing };
  const [owned, lent] = [own.known.silent, others.silent];
  const first = [...own.known.first, ...others.first].slice(0, limits.silentNamedMax);
  const silentOf = isAdmin || (owned > 0 && lent > 0) ? {} : owned > 0 ? { owner: me } : { shared: true as const };
  return { known: { silent: owned + lent, first, silentOf }, isComing };
}

type Silent = Pick<Aside, 'silent' | 'first'>;
const none: Silent = { silent: 0, first: [] };

/** How many are silent beyond their habit, but for those of which an alarm says it. */
function useSilent(whose: string, of: { readonly q?: string; readonly shared?: true }, isAsked = true) {
  const alarmed = useSilentSensors();
  const { data, isPending } = useQuery({
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
  if (data === undefined) return { known: undefined, isComing: isPending };
  const nowMs = serverNow();
  const first = data.page.filter(
    (device) =>
      deviceState(device, { nowMs, silent: alarmed }) === 'silent' &&
      !device.sensors.some(({ id }) => alarmed.has(dayKey(device.id, id))),
  );
  const others = data.page.length - first.length;
  return { known: { silent: data.total - others, first }, isComing: false };
}

/** Among open alarms: the devices that are silent without one of their own, as an entry like theirs. */
export function SilentEntry({ silent, first, silentOf }: SilentDevices) {
  const { now } = useLocale().strings;
  return (
    <AlarmEntry
      icon="sensor"
      title={
        <Link to="/devices" search={{ ...silentOf, silent: true }}>
          {now.silentDevices(silent)}
        </Link>
      }
      detail={first.map(({ id, name, sensors }) => (
        <span key={id}>
          <Link to="/devices/$device" params={{ device: id }}>
            {name || id}
          </Link>{' '}
          <Age at={lastHeard(sensors)} />
        </span>
      ))}
    />
  );
}

export function PutAside({ snoozed, until, silent, silentOf }: Omit<Aside, 'first'>) {
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
