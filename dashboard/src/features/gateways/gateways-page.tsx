// The gateways one may see: whether each is there, when it was last heard, how many devices come through it.
import { Button } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, callPage } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Age } from '../../shared/device/age.tsx';
import { useRemovals } from '../../shared/device/removals.ts';
import rows from '../../shared/list/column-rows.module.css';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { VirtualList } from '../../shared/list/virtual-list.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { type Gateway, gatewayKey, useDeviceCount } from './gateway.ts';
import { GatewayForm } from './gateway-form.tsx';
import { GatewayState } from './gateway-state.tsx';
import classes from './gateways.module.css';

const query = { limit: 1000, offset: 0 };
const rowHeight = 62;
const rowsBeforeAnswer = 4;

export function GatewaysPage() {
  const { gateways } = usePageStrings();
  const removals = useRemovals();
  const [isCreating, { open, close }] = useDisclosure(false);
  const { data, error, refetch } = useQuery({
    queryKey: keys.gatewayList(query),
    refetchInterval: 15_000,
    queryFn: () => callPage(api.GET('/api/v2/gateways', { params: { query } })),
  });
  const list = data?.page.filter(({ id }) => !removals.has(gatewayKey(id)));
  return (
    <>
      <PageHeader
        title={gateways.title}
        subtitle={list === undefined || list.length === 0 ? '\u00a0' : gateways.count(list.length)}
        actions={
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            {gateways.create}
          </Button>
        }
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {list?.length === 0 && (
        <EmptyState title={gateways.empty} words={gateways.emptyWords}>
          <Button onClick={open}>{gateways.emptyNext}</Button>
        </EmptyState>
      )}
      {list?.length !== 0 && error === null && (
        <>
          <RowHead />
          <VirtualList
            label={gateways.title}
            total={list?.length ?? rowsBeforeAnswer}
            rowHeight={rowHeight}
            rowAt={(index) => list?.[index]}
            renderRow={(gateway) =>
              gateway === undefined ? <RowsSkeleton rows={1} rowHeight={rowHeight} /> : <Row gateway={gateway} />
            }
          />
        </>
      )}
      <GatewayForm isOpen={isCreating} onClose={close} />
    </>
  );
}

function Row({ gateway }: { readonly gateway: Gateway }) {
  const { gateways } = usePageStrings();
  const { id, name, owner, last_seen: seen } = gateway;
  // A phone has no room for it: there it is not asked for, a request for each row.
  const isWide = useMediaQuery('(width >= 768px)', undefined, { getInitialValueInEffect: false });
  const count = useDeviceCount(id, isWide);
  return (
    <Link to="/gateways/$gateway" params={{ gateway: id }} className={`${rows.row} ${classes.row}`}>
      <span className={rows.names}>
        <span className={`${rows.name} d-ellipsis`}>{name || id}</span>
        <span className={`${rows.quiet} d-ellipsis`}>{id}</span>
      </span>
      <span>
        <GatewayState gateway={gateway} />
      </span>
      <span className={rows.side}>{count === undefined ? '' : gateways.devicesCount(count)}</span>
      <span className={`${rows.side} ${rows.quiet} d-ellipsis`}>{owner}</span>
      <span className={rows.last}>
        <Age at={seen} quiet />
      </span>
    </Link>
  );
}

function RowHead() {
  const { gateways, shared } = usePageStrings();
  return (
    <div className={`${rows.row} ${rows.head} ${classes.row}`} aria-hidden="true">
      <span>{gateways.gateway}</span>
      <span>{gateways.state}</span>
      <span className={rows.side}>{gateways.devices}</span>
      <span className={rows.side}>{shared.owner}</span>
      <span className={rows.last}>{gateways.lastHeard}</span>
    </div>
  );
}
