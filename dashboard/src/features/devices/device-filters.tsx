// The search, the filter chips and the order over the list; all of it goes into the address.
import { Chip, Group, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { domainsQuery } from '../../api/domains.ts';
import { gatewayChoicesQuery } from '../../api/gateways.ts';
import { useSession, useUsername } from '../../api/use-session.ts';
import { FindField } from '../../shared/list/find-field.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { useStrings } from '../../strings/strings.ts';
import classes from './device-filters.module.css';
import { type DeviceSort, type DevicesSearch, deviceSorts } from './devices-search.ts';
import { FilterBy } from './filter-by.tsx';

export function DeviceFilters({ search }: { readonly search: DevicesSearch }) {
  const { devices } = useStrings();
  const navigate = useNavigate();
  const change = (changed: DevicesSearch) =>
    void navigate({ to: '/devices', search: { ...search, ...changed }, replace: true });
  const labels = {
    name: devices.sortName,
    created: devices.sortCreated,
    heard: devices.sortHeard,
    silent: devices.sortSilent,
  };
  return (
    <Group gap="sm" mb="md" role="search">
      <FindField className={classes.find} label={devices.find} find={search.find} onFind={(find) => change({ find })} />
      <NativeSelect
        className={classes.sort}
        // A map has no order.
        display={search.view === 'map' ? 'none' : undefined}
        aria-label={devices.sort}
        leftSection={<Icon name="sort" size={16} />}
        value={search.sort ?? 'created'}
        onChange={(event) => change({ sort: event.currentTarget.value as DeviceSort })}
        data={deviceSorts.map((sort) => ({ value: sort, label: labels[sort] }))}
      />
      <Group gap={6} className={classes.chips} role="group" aria-label={devices.filters}>
        <Chips search={search} change={change} />
      </Group>
    </Group>
  );
}

interface ChipsProps {
  readonly search: DevicesSearch;
  readonly change: (changed: DevicesSearch) => void;
}

function Chips({ search, change }: ChipsProps) {
  const { devices, shared: words } = useStrings();
  const username = useUsername();
  const isUser = useSession().status === 'user';
  const { owner, shared, visibility, silent, domain, gateway } = search;
  const other = owner === username ? undefined : owner;
  const gateways = useQuery(gatewayChoicesQuery).data ?? [];
  const domains = useQuery(domainsQuery).data ?? [];
  return (
    <>
      {isUser && (
        <>
          <Toggle
            isOn={owner === username}
            label={devices.filterMine}
            onToggle={(on) => change({ owner: on ? username : undefined })}
          />
          <Toggle
            isOn={shared === true}
            label={devices.filterShared}
            onToggle={(on) => change({ shared: on || undefined })}
          />
        </>
      )}
      <Toggle
        isOn={visibility === 'public'}
        label={devices.filterPublic}
        onToggle={(on) => change({ visibility: on ? 'public' : undefined })}
      />
      <Toggle
        isOn={silent === true}
        label={devices.filterSilent}
        onToggle={(on) => change({ silent: on || undefined })}
      />
      <FilterBy label={words.owner} value={other} onChange={(next) => change({ owner: next })} />
      <FilterBy label={devices.domain} value={domain} onChange={(next) => change({ domain: next })} choices={domains} />
      <FilterBy
        label={devices.gateway}
        value={gateway}
        onChange={(next) => change({ gateway: next })}
        choices={gateways.map(({ id }) => id)}
      />
    </>
  );
}

interface ToggleProps {
  readonly isOn: boolean;
  readonly label: string;
  readonly onToggle: (isOn: boolean) => void;
}

function Toggle({ isOn, label, onToggle }: ToggleProps) {
  return (
    <Chip size="sm" variant="outline" checked={isOn} onChange={onToggle}>
      {label}
    </Chip>
  );
}
