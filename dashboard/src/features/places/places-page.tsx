// The map of all devices that have a position: markers by state, with the last values at a press.

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { freshnessWords } from '../../shared/device/state-dot.tsx';
import { DeviceMap } from '../../shared/map/device-map.tsx';
import { placedQuery } from '../../shared/map/placed-devices.ts';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useStrings } from '../../strings/strings.ts';
import classes from './places.module.css';

export function PlacesPage() {
  const { places, shared } = useStrings();
  const { data, error, refetch } = useQuery(placedQuery());
  return (
    <>
      <PageHeader
        title={places.title}
        subtitle={data === undefined || data.total === 0 ? '\u00a0' : places.count(data.devices.length, data.total)}
        actions={
          data?.total !== 0 && (
            <ul className={classes.legend} aria-label={places.legend}>
              {(['fresh', 'late', 'silent', 'never'] as const).map((state) => (
                <li key={state} data-state={state}>
                  {freshnessWords(shared)[state]}
                </li>
              ))}
            </ul>
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
        <DeviceMap devices={data?.devices ?? []} height="calc(100dvh - 190px)" />
      )}
    </>
  );
}
