// Who a device is: name to edit in place, id to copy, owner, gateway, who sees it; sharing, and deleting.

import { ActionIcon, Button, Menu, Switch } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, callPage, type Device } from '../../api/client.ts';
import { factsQuery, originFor } from '../../api/facts.ts';
import { filterValue } from '../../api/filter-value.ts';
import { countDatapoints } from '../../api/history.ts';
import { keys } from '../../api/query-keys.ts';
import type { Rights } from '../../api/rights.ts';
import { limits } from '../../limits.ts';
import { IdForm } from '../../shared/device/id-form.tsx';
import { SharedWith } from '../../shared/device/shared-with.tsx';
import { useDeviceChange } from '../../shared/device/use-device-change.ts';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { EditableName } from '../../shared/form/editable-name.tsx';
import { AddressNote } from '../../shared/page/address-note.tsx';
import { CopyButton } from '../../shared/page/copy-button.tsx';
import { copyText } from '../../shared/page/copy-text.ts';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { QrLabel } from './connect/qr-label.tsx';
import { DeviceForm } from './device-form.tsx';
import classes from './device-header.module.css';

export interface DeviceHeaderProps {
  readonly device: Device;
  readonly rights: Rights;
}

export function DeviceHeader({ device, rights }: DeviceHeaderProps) {
  const { device: words } = usePageStrings();
  const rename = useRename(device);
  const { id, name, owner, gateway_id: gateway, domain } = device;
  return (
    <PageHeader
      title={name || id}
      heading={<EditableName name={name ?? ''} id={id} mayEdit={rights.mayUpdate} onSave={rename} />}
      subtitle={
        <span className={classes.facts}>
          <span className={classes.id}>
            <span className="d-ellipsis">{id}</span>
            <CopyButton text={id} />
          </span>
          <span>{words.ownedBy(owner)}</span>
          {gateway !== undefined && gateway !== '' && (
            <Link to="/gateways/$gateway" params={{ gateway }} className={classes.link}>
              {words.gateway(gateway)}
            </Link>
          )}
          {domain !== undefined && domain !== '' && (
            <Link to="/devices" search={{ domain }} className={classes.link}>
              {domain}
            </Link>
          )}
          <VisibilitySwitch device={device} mayEdit={rights.mayUpdate && owner !== 'guest'} />
        </span>
      }
      actions={<Actions device={device} rights={rights} />}
    />
  );
}

function useRename({ id, name: before = '' }: Device): (name: string) => void {
  const { shared } = usePageStrings();
  const change = useDeviceChange(id);
  const rename = (name: string, undo?: () => void) =>
    void change({
      change: (known) => ({ ...known, name }),
      send: () => call(api.PUT('/api/v2/devices/{device}/name', { params: { path: { device: id } }, body: name })),
      said: shared.saved,
      ...(undo === undefined ? {} : { undo }),
    });
  return (name) => rename(name, () => rename(before));
}

function VisibilitySwitch({ device, mayEdit }: { readonly device: Device; readonly mayEdit: boolean }) {
  const { device: words, shared } = usePageStrings();
  const change = useDeviceChange(device.id);
  const isPublic = device.visibility === 'public';
  const become = (visibility: Device['visibility'], undo?: () => void) => {
    const params = { path: { device: device.id } };
    void change({
      change: (known) => ({ ...known, visibility }),
      send: () => call(api.PUT('/api/v2/devices/{device}/visibility', { params, body: visibility })),
      said: words.visibilityChanged(visibility === 'public'),
      ...(undo === undefined ? {} : { undo }),
    });
  };
  const means = isPublic ? shared.publicMeans : shared.privateMeans;
  if (!mayEdit) {
    return (
      <span className={classes.visibility} title={means}>
        <Icon name={isPublic ? 'globe' : 'lock'} size={14} /> {isPublic ? shared.public : shared.private}
      </span>
    );
  }
  return (
    <Switch
      size="xs"
      checked={isPublic}
      onChange={() => become(isPublic ? 'private' : 'public', () => become(device.visibility))}
      label={shared.labelled(isPublic ? shared.public : shared.private, means)}
      aria-label={shared.labelled(shared.public, shared.publicMeans)}
    />
  );
}

interface MoreMenuProps {
  readonly device: Device;
  /** Each undefined where one may not. */
  readonly onEdit: (() => void) | undefined;
  readonly onOtherId: (() => void) | undefined;
  readonly onRemove: (() => void) | undefined;
}

function MoreMenu({ device, onEdit, onOtherId, onRemove }: MoreMenuProps) {
  const { device: words, imports } = usePageStrings();
  const navigate = useNavigate();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label={words.menu}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {onEdit !== undefined && (
          <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={onEdit}>
            {words.edit}
          </Menu.Item>
        )}
        {onOtherId !== undefined && (
          <Menu.Item leftSection={<Icon name="tag" size={16} />} onClick={onOtherId}>
            {words.otherId}
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<Icon name="download" size={16} />}
          onClick={() => void navigate({ to: '/import', search: { device: device.id } })}
        >
          {imports.title}
        </Menu.Item>
        {onRemove !== undefined && (
          <Menu.Item color="var(--d-bad)" leftSection={<Icon name="trash" size={16} />} onClick={onRemove}>
            {words.remove}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function Actions({ device, rights }: DeviceHeaderProps) {
  const { device: words } = usePageStrings();
  const [dialog, setDialog] = useState<'qr' | 'people' | 'edit' | 'id' | 'remove'>();
  const { data: facts } = useQuery(factsQuery);
  const address = `${originFor(facts)}/devices/${encodeURIComponent(device.id)}`;
  const copyLink = async () => {
    // Where the browser refuses, the link is there to be selected.
    toasts.show({ text: (await copyText(address)) ? words.linkCopied : address });
  };
  const close = () => setDialog(undefined);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button leftSection={<Icon name="share" size={16} />}>{words.share}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="link" size={16} />} onClick={() => void copyLink()}>
            {words.copyLink}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="qr" size={16} />} onClick={() => setDialog('qr')}>
            {words.qr}
          </Menu.Item>
          {rights.isManager && (
            <Menu.Item leftSection={<Icon name="users" size={16} />} onClick={() => setDialog('people')}>
              {words.people}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <MoreMenu
        device={device}
        onEdit={rights.mayUpdate ? () => setDialog('edit') : undefined}
        onOtherId={rights.isManager ? () => setDialog('id') : undefined}
        onRemove={rights.mayDelete ? () => setDialog('remove') : undefined}
      />
      <Dialog opened={dialog === 'qr'} onClose={close} title={words.qrTitle}>
        <QrLabel text={address} name={device.name ?? device.id} id={device.id} />
        <AddressNote />
      </Dialog>
      <Dialog opened={dialog === 'people'} onClose={close} size="lg" title={words.people}>
        <SharedWith of={{ kind: 'device', id: device.id }} />
      </Dialog>
      <DeviceForm device={device} rights={rights} isOpen={dialog === 'edit'} onClose={close} />
      <IdForm device={device.id} isOpen={dialog === 'id'} onClose={close} />
      <RemoveDevice device={device} isOpen={dialog === 'remove'} onClose={close} />
    </>
  );
}

interface RemoveDeviceProps {
  readonly device: Device;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function RemoveDevice({ device, isOpen, onClose }: RemoveDeviceProps) {
  const { device: words, shared } = usePageStrings();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: lost } = useQuery({
    queryKey: [...keys.device(device.id), 'lost'],
    enabled: isOpen,
    staleTime: 0,
    queryFn: async () => {
      const query = { q: `condition.devices==${filterValue(device.id)}`, limit: 1, offset: 0 };
      const [datapoints, rules] = await Promise.all([
        countDatapoints(device.id),
        callPage(api.GET('/api/v2/notifications', { params: { query } })).then(({ total }) => total),
      ]);
      return { datapoints, rules };
    },
  });
  const remove = async () => {
    await call(api.DELETE('/api/v2/devices/{device}', { params: { path: { device: device.id } } }));
    toasts.show({ text: words.removed(device.name || device.id) });
    await navigate({ to: '/devices' });
    await queries.invalidateQueries({ queryKey: keys.devices });
  };
  const losses = [
    shared.sensors(device.sensors.length),
    ...(lost === undefined ? [] : [shared.datapoints(lost.datapoints)]),
    ...(lost === undefined || lost.rules === 0 ? [] : [shared.rules(lost.rules)]),
  ];
  const isMuch = lost === undefined || lost.datapoints > limits.dangerousDatapointsMax;
  return (
    <ConfirmDanger
      isOpen={isOpen}
      onClose={onClose}
      title={words.removeTitle(device.name || device.id)}
      losses={losses}
      typedId={isMuch ? device.id : undefined}
      action={words.remove}
      onConfirm={remove}
    />
  );
}
