// The map of all devices that have a position: markers by state, with the last values at a press. One finds a device by its
// name, and leaves out the states that do not matter: the map moves to what is left. Both stand in the address.

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { freshnessWords } from '../../shared/device/state-dot.tsx';
import { formatNumber } from '../../shared/device/value.tsx';
import { FindField } from '../../shared/list/find-field.tsx';
import { MarkersMap, useDeviceMarkers } from '../../shared/map/device-map.tsx';
import type { MapMarker } from '../../shared/map/map-marker.ts';
import { placedQuery } from '../../shared/map/placed-devices.ts';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import classes from './places.module.css';
import { hiddenStates, mapStates, type PlacesSearch } from './places-search.ts';

const route = getRouteApi('/map');

export function PlacesPage() {
  const { devices, places } = usePageStrings();
  const search = route.useSearch();
  const change = useChange(search);
  const { data, error, refetch } = useQuery(placedQuery());
  const markers = useDeviceMarkers(data?.devices ?? []);
  const found = markers.filter((marker) => isNamed(marker, search.find ?? ''));
  const hidden = hiddenStates(search.without);
  const shown = found.filter(({ state = 'never' }) => !hidden.includes(state));
  return (
    <>
      <PageHeader
        title={places.title}
        subtitle={data === undefined || data.total === 0 ? '\u00a0' : places.count(shown.length, data.total)}
        actions={
          // There before its devices, so that nothing moves for it.
          data?.total !== 0 && (
            <FindField
              className={classes.find}
              label={devices.find}
              find={search.find}
              onFind={(find) => change({ find })}
            />
          )
        }
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.total === 0 ? (
        <EmptyState title={places.empty} words={places.emptyWords}>
          <Button component={Link} to="/devices">
            {places.toDevices}
          </Button>
        </EmptyState>
      ) : (
        <>
          <Legend markers={found} search={search} />
          <MarkersMap
            markers={shown}
            fitBy={JSON.stringify([data !== undefined, search])}
            height="max(300px, calc(100dvh - var(--map-around)))"
          />
        </>
      )}
    </>
  );
}

function isNamed({ id, name = '' }: MapMarker, find: string): boolean {
  const part = find.toLocaleLowerCase();
  return name.toLocaleLowerCase().includes(part) || id.toLocaleLowerCase().includes(part);
}

function useChange(search: PlacesSearch): (changed: PlacesSearch) => void {
  const navigate = useNavigate();
  return (changed) => void navigate({ to: '/map', search: { ...search, ...changed }, replace: true });
}

/** What the colours say, how many there are of each, and a press leaves them out. */
function Legend({ markers, search }: { readonly markers: readonly MapMarker[]; readonly search: PlacesSearch }) {
  const { strings, tag } = usePageLocale();
  const change = useChange(search);
  const hidden = hiddenStates(search.without);
  return (
    <ul className={classes.legend} aria-label={strings.places.legend}>
      {mapStates.map((state) => (
        <li key={state}>
          <button
            type="button"
            className={classes.state}
            data-state={state}
            aria-pressed={!hidden.includes(state)}
            title={strings.places.showOrHide}
            onClick={() => {
              const next = mapStates.filter((one) => hidden.includes(one) !== (one === state));
              change({ without: next.length === 0 ? undefined : next.join(',') });
            }}
          >
            {freshnessWords(strings.shared)[state]}
            <b>{formatNumber(markers.filter((marker) => marker.state === state).length, tag)}</b>
          </button>
        </li>
      ))}
    </ul>
  );
}
