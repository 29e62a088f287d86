// The actuators of a device, each with a control that fits its kind of value; adding, editing and deleting them.
import { ActionIcon, Button, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Device } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import type { Rights } from '../../../api/rights.ts';
import { Value } from '../../../shared/device/value.tsx';
import { ConfirmDanger } from '../../../shared/form/confirm-danger.tsx';
import { Icon } from '../../../shared/page/icon.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import { ActuatorControl } from './actuator-control.tsx';
import { ActuatorForm } from './actuator-form.tsx';
import classes from './actuators.module.css';
import { LastSettings } from './last-settings.tsx';

type Actuator = Device['actuators'][number];

export interface ActuatorsProps {
  readonly device: Device;
  readonly rights: Rights;
}

export function Actuators({ device, rights }: ActuatorsProps) {
  const { device: words } = usePageStrings();
  const [edited, setEdited] = useState<Actuator>();
  const [removed, setRemoved] = useState<Actuator>();
  const [isAdding, { open, close }] = useDisclosure(false);
  const { actuators } = device;
  if (actuators.length === 0) return null;
  return (
    <section className={classes.section} aria-label={words.actuators}>
      <h2 className={classes.heading}>{words.actuators}</h2>
      <ul className={classes.list}>
        {actuators.map((actuator) => (
          <li key={actuator.id} className={classes.actuator}>
            <span className={classes.name}>
              <span className="d-ellipsis">{actuator.name || actuator.id}</span>
              {rights.mayUpdate && (
                <ActuatorMenu
                  actuator={actuator}
                  onEdit={() => setEdited(actuator)}
                  onRemove={() => setRemoved(actuator)}
                />
              )}
            </span>
            {rights.maySetActuators ? (
              <ActuatorControl device={device.id} actuator={actuator} />
            ) : (
              <Value value={actuator.value} size="tile" />
            )}
            {rights.mayReadData && <LastSettings device={device.id} actuator={actuator.id} />}
          </li>
        ))}
      </ul>
      {rights.mayUpdate && <AddActuator onClick={open} />}
      <ActuatorForm device={device.id} actuator={undefined} isOpen={isAdding} onClose={close} />
      <ActuatorForm
        device={device.id}
        actuator={edited}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      />
      <RemoveActuator device={device.id} actuator={removed} onClose={() => setRemoved(undefined)} />
    </section>
  );
}

/** Stands among the actuators; without any, beside what adds a sensor. Its dialog belongs to who stays where it moves. */
export function AddActuator({ onClick }: { readonly onClick: () => void }) {
  const { device: words } = usePageStrings();
  return (
    <Button variant="default" size="xs" leftSection={<Icon name="plus" size={14} />} onClick={onClick}>
      {words.addActuator}
    </Button>
  );
}

interface ActuatorMenuProps {
  readonly actuator: Actuator;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

function ActuatorMenu({ actuator: { id, name }, onEdit, onRemove }: ActuatorMenuProps) {
  const { device: words } = usePageStrings();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={words.actuatorMenu(name || id)}>
          <Icon name="more" size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={onEdit}>
          {words.editActuator}
        </Menu.Item>
        <Menu.Item color="var(--d-bad)" leftSection={<Icon name="trash" size={16} />} onClick={onRemove}>
          {words.removeActuator}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface RemoveActuatorProps {
  readonly device: string;
  readonly actuator: Actuator | undefined;
  readonly onClose: () => void;
}

function RemoveActuator({ device, actuator, onClose }: RemoveActuatorProps) {
  const { device: words } = usePageStrings();
  const queries = useQueryClient();
  const name = actuator?.name || actuator?.id || '';
  const remove = async () => {
    const params = { path: { device, actuator: actuator?.id ?? '' } };
    await call(api.DELETE('/api/v2/devices/{device}/actuators/{actuator}', { params }));
    // Its history is gone, and is on screen until the device is read again.
    const own = JSON.stringify(keys.settings(device, params.path.actuator));
    await queries.invalidateQueries({
      queryKey: keys.device(device),
      predicate: ({ queryKey }) => JSON.stringify(queryKey) !== own,
    });
    toasts.show({ text: words.actuatorRemoved(name) });
  };
  return (
    <ConfirmDanger
      isOpen={actuator !== undefined}
      onClose={onClose}
      title={words.actuatorRemoveTitle(name)}
      action={words.removeActuator}
      onConfirm={remove}
    />
  );
}
