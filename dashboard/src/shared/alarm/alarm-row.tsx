// An alarm in a list.
import { ActionIcon, Button, Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { Alarm } from '../../api/alarms.ts';
import { isOnEarth, type Place } from '../../api/places.ts';
import { serverNow } from '../../api/server-time.ts';
import { comma } from '../../strings/listed.ts';
import { type Locale, useLocale } from '../../strings/strings.ts';
import { Age, absoluteTime } from '../device/age.tsx';
import { formatNumber } from '../device/value.tsx';
import { Icon, type IconName } from '../page/icon.tsx';
import { type AlarmActs, useAlarmActs } from './alarm-acts.ts';
import { AcknowledgeDialog, AssignDialog } from './alarm-dialogs.tsx';
import classes from './alarm-list.module.css';
import { alarmReason, alarmTitle } from './alarm-words.ts';

const icons: Readonly<Record<Alarm['kind'], IconName>> = {
  rule: 'warning',
  silence: 'sensor',
  gateway: 'gateway',
  storage: 'warning',
};

export function AlarmRow({ alarm }: { readonly alarm: Alarm }) {
  const locale = useLocale();
  const { now } = locale.strings;
  const { kind, state, since, cleared, times } = alarm;
  const title = alarmTitle(alarm, locale);
  const reason = alarmReason(alarm, locale);
  return (
    <li className={classes.row} data-state={state} data-seen={alarm.acknowledged !== undefined || undefined}>
      <span className={classes.icon}>
        <Icon name={icons[kind]} size={20} />
      </span>
      <div className={classes.words}>
        <span className={`${classes.title} d-clamp`} title={title}>
          <ToWhat alarm={alarm}>{title}</ToWhat>
        </span>
        <span className={`${classes.detail} d-clamp`}>
          {reason !== undefined && `${reason} · `}
          {now.since} <Age at={since} />
          {cleared !== undefined && (
            <>
              {comma()}
              {now.until} <Age at={cleared} />
            </>
          )}
          {times > 1 && <> · {now.times(times)}</>}
        </span>
        <Around alarm={alarm} />
        <Handling alarm={alarm} locale={locale} />
      </div>
      {state === 'active' && alarm.may_update && <Acts alarm={alarm} title={title} />}
    </li>
  );
}

/** Leads to the sensor, the device or the gateway. */
function ToWhat({ alarm, children }: { readonly alarm: Alarm; readonly children: ReactNode }) {
  const { kind, device_id: device, sensor_id: sensor, gateway_id: gateway } = alarm;
  if (device !== undefined && sensor !== undefined)
    return (
      <Link to="/devices/$device/sensors/$sensor" params={{ device, sensor }}>
        {children}
      </Link>
    );
  if (device !== undefined)
    return (
      <Link to="/devices/$device" params={{ device }}>
        {children}
      </Link>
    );
  if (kind === 'gateway' && gateway !== undefined)
    return (
      <Link to="/gateways/$gateway" params={{ gateway }}>
        {children}
      </Link>
    );
  return children;
}

/** The rule, the gateway and the device, as far as they are not the title; and where it is, which leads to the map. */
function Around({ alarm }: { readonly alarm: Alarm }) {
  const { kind, device_id: device, device_name: name, gateway_id: gateway, location, may_update: mayUpdate } = alarm;
  const { notification_id: notification, notification_description: description } = alarm;
  // Whom a device is shared with may open neither the rule nor, where its name is withheld, the gateway.
  const opensGateway = mayUpdate || alarm.gateway_name !== undefined;
  const parts: ReactNode[] = [];
  if (notification !== undefined && description !== undefined)
    parts.push(
      mayUpdate ? (
        <Link key="rule" to="/notifications/$notification" params={{ notification }}>
          {description}
        </Link>
      ) : (
        <span key="rule">{description}</span>
      ),
    );
  if (device !== undefined)
    parts.push(
      <Link key="device" to="/devices/$device" params={{ device }}>
        {name || device}
      </Link>,
    );
  if (kind !== 'gateway' && gateway !== undefined)
    parts.push(
      opensGateway ? (
        <Link key="gateway" to="/gateways/$gateway" params={{ gateway }}>
          {alarm.gateway_name || gateway}
        </Link>
      ) : (
        <span key="gateway">{gateway}</span>
      ),
    );
  if (isOnEarth(location)) parts.push(<OnMap key="place" alarm={alarm} place={location} />);
  if (parts.length === 0) return null;
  return <span className={`${classes.detail} ${classes.place}`}>{parts}</span>;
}

/** Coordinates; those of a device lead to it on the map of all, those of a gateway to the map of its page. */
function OnMap({ alarm, place }: { readonly alarm: Alarm; readonly place: Place }) {
  const { strings, tag } = useLocale();
  const { device_id: device, device_name: name, gateway_id: gateway } = alarm;
  const degrees = [place.latitude, place.longitude].map((one) => `${formatNumber(one, tag, 4)}°`).join(' ');
  const words = (
    <>
      <Icon name="pin" size={14} /> <bdi dir="ltr">{degrees}</bdi>
    </>
  );
  if (device !== undefined)
    return (
      <Link to="/map" search={{ find: device }} title={strings.now.onMap(name || device)}>
        {words}
      </Link>
    );
  if (gateway === undefined) return null;
  return (
    <Link to="/gateways/$gateway" params={{ gateway }}>
      {words}
    </Link>
  );
}

function Handling({ alarm, locale }: { readonly alarm: Alarm; readonly locale: Locale }) {
  const { strings, tag } = locale;
  const { now } = strings;
  const { acknowledged, assigned_to: assignee, snoozed_until: snoozed } = alarm;
  const isSnoozed = snoozed !== undefined && Date.parse(snoozed) > serverNow();
  const who = acknowledged?.by === undefined ? now.acknowledged : now.acknowledgedBy(acknowledged.by);
  if (acknowledged === undefined && assignee === undefined && !isSnoozed) return null;
  return (
    <span className={classes.handling}>
      {acknowledged !== undefined && (
        <span>
          <Icon name="check" size={14} />{' '}
          {acknowledged.note === undefined ? who : strings.shared.labelled(who, acknowledged.note)}
        </span>
      )}
      {assignee !== undefined && (
        <span>
          <Icon name="user" size={14} /> {now.assignedTo(assignee)}
        </span>
      )}
      {isSnoozed && (
        <span title={absoluteTime(Date.parse(snoozed), tag, strings)}>
          <Icon name="moon" size={14} />{' '}
          {now.snoozedUntil(new Date(snoozed).toLocaleString(tag, { dateStyle: 'medium', timeStyle: 'short' }))}
        </span>
      )}
    </span>
  );
}

const hourMs = 3_600_000;
const snoozes = [
  ['snooze1h', hourMs],
  ['snooze4h', 4 * hourMs],
  ['snooze1d', 24 * hourMs],
  ['snooze7d', 7 * 24 * hourMs],
] as const;

function Acts({ alarm, title }: { readonly alarm: Alarm; readonly title: string }) {
  const { now } = useLocale().strings;
  const acts = useAlarmActs(alarm);
  const [open, setOpen] = useState<'acknowledge' | 'assign'>();
  const close = () => setOpen(undefined);
  return (
    <div className={classes.acts}>
      {alarm.acknowledged === undefined && (
        <Button variant="default" size="sm" onClick={() => setOpen('acknowledge')}>
          {now.acknowledge}
        </Button>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={36} aria-label={now.more(title)}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <MenuItems alarm={alarm} acts={acts} onAssign={() => setOpen('assign')} />
        </Menu.Dropdown>
      </Menu>
      <AcknowledgeDialog title={title} acts={acts} isOpen={open === 'acknowledge'} onClose={close} />
      <AssignDialog title={title} acts={acts} isOpen={open === 'assign'} onClose={close} />
    </div>
  );
}

interface MenuItemsProps {
  readonly alarm: Alarm;
  readonly acts: AlarmActs;
  readonly onAssign: () => void;
}

function MenuItems({ alarm, acts, onAssign }: MenuItemsProps) {
  const { now } = useLocale().strings;
  const isSnoozed = alarm.snoozed_until !== undefined && Date.parse(alarm.snoozed_until) > serverNow();
  return (
    <>
      <Menu.Item onClick={onAssign}>{now.assignTo}</Menu.Item>
      {alarm.assigned_to !== undefined && (
        <Menu.Item onClick={() => acts.takeBack('assignee')}>{now.unassign}</Menu.Item>
      )}
      {alarm.acknowledged !== undefined && (
        <Menu.Item onClick={() => acts.takeBack('acknowledgement')}>{now.unacknowledge}</Menu.Item>
      )}
      <Menu.Label>{now.snooze}</Menu.Label>
      {snoozes.map(([label, ms]) => (
        <Menu.Item key={label} onClick={() => acts.snooze(serverNow() + ms)}>
          {now[label]}
        </Menu.Item>
      ))}
      {isSnoozed && <Menu.Item onClick={() => acts.takeBack('snooze')}>{now.unsnooze}</Menu.Item>}
    </>
  );
}
