// What belongs around a device, in tabs: how to send it values, whom it is shared with, its keys, what was dropped.
import { Tabs } from '@mantine/core';
import { useState } from 'react';
import type { Device } from '../../api/client.ts';
import type { Rights } from '../../api/rights.ts';
import type { LiveDatapoint } from '../../api/use-live.ts';
import { useSession } from '../../api/use-session.ts';
import tabs from '../../shared/page/tabs.module.css';
import { usePageStrings } from '../../strings/strings.ts';
import { Activity } from './activity/activity.tsx';
import { Drops } from './activity/drops.tsx';
import type { Setting } from './activity/use-activity.ts';
import { Keys } from './connect/keys.tsx';
import { Snippets } from './connect/snippets.tsx';
import { DeviceAlarms } from './device-alarms.tsx';
import { type DeviceSearch, type DeviceTab, deviceTabs } from './device-search.ts';
import classes from './section.module.css';
import { Sharing } from './sharing.tsx';

export interface DeviceTabsProps {
  readonly device: Device;
  readonly rights: Rights;
  readonly search: DeviceSearch;
  /** The datapoint that came last while the page is open. */
  readonly arrived: LiveDatapoint | undefined;
  /** What was set meanwhile. */
  readonly settings: readonly Setting[];
  readonly onChange: (changed: DeviceSearch) => void;
}

export function DeviceTabs({ device, rights, search, arrived, settings, onChange }: DeviceTabsProps) {
  const { device: words } = usePageStrings();
  const isUser = useSession().status === 'user';
  const [key, setKey] = useState<string>();
  const isOffered: Readonly<Record<DeviceTab, boolean>> = {
    snippets: rights.mayPush,
    sharing: isUser,
    keys: isUser,
    alarms: isUser && rights.mayReadData,
    drops: rights.isManager,
    activity: rights.mayReadData,
  };
  const offered = deviceTabs.filter((tab) => isOffered[tab]);
  const [first] = offered;
  if (first === undefined) return null;
  const chosen = search.tab !== undefined && isOffered[search.tab] ? search.tab : first;
  return (
    <section className={classes.section} aria-label={words.tabs}>
      <Tabs value={chosen} onChange={(tab) => onChange({ tab: tab as DeviceTab })} keepMounted={false}>
        <Tabs.List mb="md" className={tabs.list}>
          {offered.map((tab) => (
            <Tabs.Tab key={tab} value={tab} className={tabs.tab}>
              {words[tab]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="snippets">
          <Snippets device={device} arrived={arrived} madeKey={key} />
        </Tabs.Panel>
        <Tabs.Panel value="sharing">
          <Sharing device={device.id} isManager={rights.isManager} />
        </Tabs.Panel>
        <Tabs.Panel value="keys">
          <Keys device={device} made={key} onMade={setKey} />
        </Tabs.Panel>
        <Tabs.Panel value="alarms">
          <DeviceAlarms device={device.id} />
        </Tabs.Panel>
        <Tabs.Panel value="drops">
          <Drops device={device.id} />
        </Tabs.Panel>
        <Tabs.Panel value="activity">
          <Activity device={device} rights={rights} settings={settings} />
        </Tabs.Panel>
      </Tabs>
    </section>
  );
}
