// What an actuator was set to last: when, by whom, by which door, and whether the device has it. The newest stands under
// the control; the ones before it open.
import { UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Setting, settingsQuery } from '../../../api/settings.ts';
import { Age } from '../../../shared/device/age.tsx';
import { formatValue } from '../../../shared/device/value.tsx';
import { Icon } from '../../../shared/page/icon.tsx';
import { usePageLocale, usePageStrings } from '../../../strings/strings.ts';
import classes from './last-settings.module.css';

export function LastSettings({ device, actuator }: { readonly device: string; readonly actuator: string }) {
  const { device: words } = usePageStrings();
  const [isOpen, { toggle }] = useDisclosure(false);
  const { data: settings = [] } = useQuery(settingsQuery(device, actuator));
  const [newest, ...before] = settings;
  if (newest === undefined) return null;
  return (
    <div className={classes.settings}>
      <Row setting={newest} />
      {isOpen && (
        <ol className={classes.before}>
          {before.slice(0, rowsMax).map((setting) => (
            <li key={`${setting.timestamp} ${setting.door} ${JSON.stringify(setting.value)}`}>
              <Row setting={setting} value={<SetTo setting={setting} />} />
            </li>
          ))}
        </ol>
      )}
      {before.length > 0 && (
        <UnstyledButton className={classes.more} aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? words.settingsLess : words.settingsMore}
        </UnstyledButton>
      )}
    </div>
  );
}

/** Beyond: the API has them. */
const rowsMax = 9;

function Row({ setting, value }: { readonly setting: Setting; readonly value?: ReactNode }) {
  const { device: words } = usePageStrings();
  const { username, key, door, timestamp } = setting;
  const by = [words.doors[door as keyof typeof words.doors], key === undefined ? username : `${username} (${key})`];
  return (
    <span className={classes.row}>
      {value}
      <span className={classes.who}>
        <Age at={timestamp} quiet /> · {by.filter((part) => part !== undefined).join(' · ')}
      </span>
      <State setting={setting} />
    </span>
  );
}

function SetTo({ setting: { value } }: { readonly setting: Setting }) {
  const { device: words } = usePageStrings();
  const { tag } = usePageLocale();
  const shown = value === true ? words.on : value === false ? words.off : formatValue(value, tag);
  return <span className={`${classes.value} d-ellipsis`}>{shown}</span>;
}

function State({ setting: { delivered, confirmed } }: { readonly setting: Setting }) {
  const { device: words } = usePageStrings();
  if (confirmed)
    return (
      <span className={classes.confirmed} title={words.confirmedMeans}>
        <Icon name="check" size={12} /> {words.confirmed}
      </span>
    );
  if (delivered) return <span title={words.deliveredMeans}>{words.delivered}</span>;
  return (
    <span className={classes.missing} title={words.notDeliveredMeans}>
      {words.notDelivered}
    </span>
  );
}
