// What can be done with a sensor: be told of its values, calibrate, edit, delete.
import { ActionIcon, Button, Menu } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, type Device, type Sensor } from '../../api/client.ts';
import { countDatapoints } from '../../api/history.ts';
import { keys } from '../../api/query-keys.ts';
import type { Rights } from '../../api/rights.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { IdForm } from '../../shared/device/id-form.tsx';
import { SensorForm } from '../../shared/device/sensor-form.tsx';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { Calibration } from './calibration.tsx';

export interface SensorActionsProps {
  readonly device: Device;
  readonly sensor: Sensor;
  readonly rights: Rights;
  readonly lastMs: number | undefined;
  /** Begins to choose stored values. */
  readonly onEdit: () => void;
}

type Dialog = 'calibrate' | 'edit' | 'id' | 'remove';

export function SensorActions({ device, sensor, rights, lastMs, onEdit }: SensorActionsProps) {
  const { sensor: words, datapoints } = usePageStrings();
  const isUser = useSession().status === 'user';
  const [dialog, setDialog] = useState<Dialog>();
  // One that closes late must not take the next one with it.
  const closer = (closing: Dialog) => () => setDialog((open) => (open === closing ? undefined : open));
  return (
    <>
      {isUser && (
        <Button
          component={Link}
          to="/notifications/new"
          search={{ device: device.id, sensor: sensor.id } as never}
          leftSection={<Icon name="bell" size={16} />}
        >
          {words.notify}
        </Button>
      )}
      {rights.mayUpdate && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" size={36} aria-label={words.menu}>
              <Icon name="more" />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<Icon name="tune" size={16} />} onClick={() => setDialog('calibrate')}>
              {words.calibrate}
            </Menu.Item>
            <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setDialog('edit')}>
              {words.edit}
            </Menu.Item>
            {rights.isManager && (
              <Menu.Item leftSection={<Icon name="tag" size={16} />} onClick={() => setDialog('id')}>
                {words.otherId}
              </Menu.Item>
            )}
            {rights.mayReadData && lastMs !== undefined && (
              <Menu.Item leftSection={<Icon name="sensor" size={16} />} onClick={onEdit}>
                {datapoints.menu}
              </Menu.Item>
            )}
            <Menu.Item
              color="var(--d-bad)"
              leftSection={<Icon name="trash" size={16} />}
              onClick={() => setDialog('remove')}
            >
              {words.remove}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      <SensorForm device={device.id} sensor={sensor} isOpen={dialog === 'edit'} onClose={closer('edit')} />
      <IdForm device={device.id} sensor={sensor.id} isOpen={dialog === 'id'} onClose={closer('id')} />
      <Calibration
        device={device.id}
        sensor={sensor}
        lastMs={lastMs}
        isOpen={dialog === 'calibrate'}
        onClose={closer('calibrate')}
      />
      <RemoveSensor device={device.id} sensor={sensor} isOpen={dialog === 'remove'} onClose={closer('remove')} />
    </>
  );
}

interface RemoveSensorProps {
  readonly device: string;
  readonly sensor: Sensor;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function RemoveSensor({ device, sensor, isOpen, onClose }: RemoveSensorProps) {
  const { sensor: words, shared } = usePageStrings();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: count } = useQuery({
    queryKey: [...keys.device(device), 'count', sensor.id],
    queryFn: () => countDatapoints(device, sensor.id),
    enabled: isOpen,
    staleTime: 0,
  });
  const remove = async () => {
    await call(
      api.DELETE('/api/v2/devices/{device}/sensors/{sensor}', { params: { path: { device, sensor: sensor.id } } }),
    );
    toasts.show({ text: words.removed(sensor.name || sensor.id) });
    await navigate({ to: '/devices/$device', params: { device } });
    await queries.invalidateQueries({ queryKey: keys.device(device) });
  };
  return (
    <ConfirmDanger
      isOpen={isOpen}
      onClose={onClose}
      title={words.removeTitle(sensor.name || sensor.id)}
      losses={count === undefined ? [] : [shared.datapoints(count)]}
      typedId={count === undefined || count > limits.dangerousDatapointsMax ? sensor.id : undefined}
      action={words.remove}
      onConfirm={remove}
    />
  );
}
