// The devices one may see: searched, filtered and put in order by the server, so that a hundred thousand are as quick as
// ten; without any, the first run.
import { Button, SegmentedControl } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useDays } from '../../shared/chart/use-days.ts';
import { VirtualList } from '../../shared/list/virtual-list.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useStrings } from '../../strings/strings.ts';
import { DeviceFilters } from './device-filters.tsx';
import { type DeviceList, questionOf, useDeviceList } from './device-list.ts';
import { DeviceRow, DeviceRowHead, deviceRowHeight } from './device-row.tsx';
import type { DevicesSearch } from './devices-search.ts';

const CreateDevice = lazy(async () => ({
  default: (await import('../../shared/device/create-device.tsx')).CreateDevice,
}));
const FirstRun = lazy(async () => ({ default: (await import('./first-run.tsx')).FirstRun }));
const DevicesMap = lazy(async () => ({ default: (await import('./devices-map.tsx')).DevicesMap }));
const route = getRouteApi('/devices');

export function DevicesPage() {
  const { devices } = useStrings();
  const search = route.useSearch();
  const list = useDeviceList(search);
  const [isCreating, { open, close }] = useDisclosure(false);
  // From then on, so that it can be seen to close.
  const [hasCreated, setCreated] = useState(false);
  if (isCreating && !hasCreated) setCreated(true);
  const { sort: _, view, ...filters } = search;
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const isEmpty = list.total === 0;
  const isFirst = useFirst(isEmpty && !isFiltered);
  return (
    <>
      <PageHeader
        title={devices.title}
        subtitle={list.total === undefined || isFirst ? '\u00a0' : devices.count(list.total)}
        actions={
          <>
            {!isFirst && <ListOrMap view={view} />}
            <Button leftSection={<Icon name="plus" />} onClick={open}>
              {devices.create}
            </Button>
          </>
        }
      />
      {!isFirst && <DeviceFilters search={search} />}
      {list.error !== undefined && view === undefined && <ProblemNotice error={list.error} retry={list.retry} />}
      {isEmpty && isFiltered && <NothingFits />}
      {isFirst && (
        <Suspense>
          <FirstRun onCreate={open} />
        </Suspense>
      )}
      {!isEmpty && !isFirst && list.error === undefined && view === undefined && <Rows list={list} search={search} />}
      {!isEmpty && !isFirst && view === 'map' && (
        <Suspense>
          <DevicesMap question={questionOf(search)} />
        </Suspense>
      )}
      {hasCreated && (
        <Suspense>
          <CreateDevice isOpen={isCreating} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

function ListOrMap({ view }: { readonly view: 'map' | undefined }) {
  const { devices } = useStrings();
  const navigate = useNavigate();
  const search = route.useSearch();
  return (
    <SegmentedControl
      aria-label={devices.view}
      value={view ?? 'list'}
      onChange={(next) =>
        void navigate({ to: '/devices', search: { ...search, view: next === 'map' ? 'map' : undefined } })
      }
      data={[
        { value: 'list', label: devices.asList },
        { value: 'map', label: devices.onMap },
      ]}
    />
  );
}

/** The first run stays when the first device has come, so that its chart is seen. */
function useFirst(isEmpty: boolean): boolean {
  const [isFirst, setFirst] = useState(false);
  useEffect(() => {
    if (isEmpty) setFirst(true);
  }, [isEmpty]);
  return isFirst || isEmpty;
}

/** Rows of the final height stand there until the first answer comes. */
const rowsBeforeAnswer = 8;

function Rows({ list, search }: { readonly list: DeviceList; readonly search: DevicesSearch }) {
  const { devices } = useStrings();
  const navigate = useNavigate();
  const days = useDays(list.inView);
  return (
    <>
      <DeviceRowHead
        columns={list.columns}
        sort={search.sort ?? 'created'}
        onSort={(sort) => void navigate({ to: '/devices', search: { ...search, sort }, replace: true })}
      />
      <VirtualList
        label={devices.table}
        total={list.total ?? rowsBeforeAnswer}
        rowHeight={deviceRowHeight}
        rowAt={list.rowAt}
        renderRow={(device) => <DeviceRow device={device} days={days} columns={list.columns} />}
        onRange={list.onRange}
      />
    </>
  );
}

function NothingFits() {
  const { devices } = useStrings();
  const navigate = useNavigate();
  return (
    <EmptyState title={devices.nothingFits} words={devices.nothingFitsWords}>
      <Button variant="default" onClick={() => void navigate({ to: '/devices', search: {} })}>
        {devices.clearAll}
      </Button>
    </EmptyState>
  );
}
