// The MQTT clients that are connected or whose sessions are kept: one's own, for admins all; found by the server.
import { Alert, Box, Button, Group, SegmentedControl } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import { Age } from '../../shared/device/age.tsx';
import rows from '../../shared/list/column-rows.module.css';
import { FindField } from '../../shared/list/find-field.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { VirtualList } from '../../shared/list/virtual-list.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { placeOf } from './client-place.ts';
import { ClientState } from './client-state.tsx';
import classes from './clients.module.css';
import type { ClientsSearch } from './clients-search.ts';

const route = getRouteApi('/clients');
const rowHeight = 62;
const rowsBeforeAnswer = 4;

export function ClientsPage() {
  const { clients } = usePageStrings();
  const search = route.useSearch();
  const navigate = useNavigate();
  const { find, state } = search;
  const query = {
    ...(find === undefined ? {} : { text: find }),
    ...(state === undefined ? {} : { state }),
    limit: limits.clientsShownMax,
    offset: 0,
  };
  const { data, error, refetch } = useQuery({
    queryKey: keys.clientList(query),
    refetchInterval: 15_000,
    queryFn: () => callPage(api.GET('/api/v2/mqtt/clients', { params: { query } })),
    placeholderData: keepPreviousData,
  });
  const list = data?.page;
  const isFiltered = find !== undefined || state !== undefined;
  return (
    <>
      <PageHeader title={clients.title} subtitle={data === undefined ? '\u00a0' : clients.count(data.total)} />
      {(isFiltered || list?.length !== 0) && <Filters search={search} />}
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data !== undefined && data.silent > 0 && (
        <Alert color="yellow" variant="light" role="status" icon={<Icon name="warning" />} my="sm">
          {clients.silentServers(data.silent)}
        </Alert>
      )}
      {list?.length === 0 && !isFiltered && <EmptyState title={clients.empty} words={clients.emptyWords} />}
      {list?.length === 0 && isFiltered && (
        <EmptyState title={clients.nothingFits} words={clients.nothingFitsWords}>
          <Button variant="default" onClick={() => void navigate({ to: '/clients', search: {} })}>
            {clients.showAll}
          </Button>
        </EmptyState>
      )}
      {list?.length !== 0 && error === null && (
        <>
          <RowHead />
          <VirtualList
            label={clients.list}
            total={list?.length ?? rowsBeforeAnswer}
            rowHeight={rowHeight}
            rowAt={(index) => list?.[index]}
            renderRow={(client) =>
              client === undefined ? <RowsSkeleton rows={1} rowHeight={rowHeight} /> : <Row client={client} />
            }
          />
        </>
      )}
      {data !== undefined && data.total > data.page.length && <p>{clients.moreThanShown(data.page.length)}</p>}
    </>
  );
}

function Row({ client }: { readonly client: Schemas['MqttClient'] }) {
  const { clients } = usePageStrings();
  const { id, owner, address, waiting } = client;
  return (
    <Link to="/clients/$client" params={{ client: placeOf(id) }} className={`${rows.row} ${classes.row}`}>
      <span className={rows.names}>
        <span className={`${rows.name} d-ellipsis`}>{id}</span>
        <span className={`${rows.quiet} d-ellipsis`}>{owner}</span>
      </span>
      <span>
        <ClientState client={client} />
      </span>
      <span className={`${rows.side} d-ellipsis`}>{address}</span>
      <span className={rows.side}>{waiting.messages === 0 ? '' : clients.messages(waiting.messages)}</span>
      <span className={rows.last}>
        <Age at={client.connected_since ?? client.disconnected_since} quiet />
      </span>
    </Link>
  );
}

function RowHead() {
  const { clients } = usePageStrings();
  return (
    <div className={`${rows.row} ${rows.head} ${classes.row}`} aria-hidden="true">
      <span>{clients.client}</span>
      <span>{clients.state}</span>
      <span className={rows.side}>{clients.from}</span>
      <span className={rows.side}>{clients.waits}</span>
      <span className={rows.last}>{clients.since}</span>
    </div>
  );
}

function Filters({ search }: { readonly search: ClientsSearch }) {
  const { clients } = usePageStrings();
  const navigate = useNavigate();
  return (
    <Group mb="md" gap="sm">
      <Box w={{ base: '100%', xs: 320 }}>
        <FindField
          label={clients.find}
          find={search.find}
          onFind={(find) => void navigate({ to: '/clients', search: { ...search, find }, replace: true })}
        />
      </Box>
      <SegmentedControl
        aria-label={clients.showState}
        value={search.state ?? 'all'}
        onChange={(value) =>
          void navigate({
            to: '/clients',
            search: { ...search, state: value === 'all' ? undefined : (value as 'connected' | 'kept') },
            replace: true,
          })
        }
        data={[
          { value: 'all', label: clients.shown.all },
          { value: 'connected', label: clients.shown.connected },
          { value: 'kept', label: clients.shown.kept },
        ]}
      />
    </Group>
  );
}
