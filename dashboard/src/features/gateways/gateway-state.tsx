// Whether a gateway is there: connected over MQTT, or heard of lately by a heartbeat; silent where an alarm says that it is offline.
import { freshnessOf } from '../../shared/device/freshness.ts';
import page from '../../shared/page/record-page.module.css';
import { useNow } from '../../shared/page/use-now.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { type Gateway, useOfflineGateways } from './gateway.ts';
import classes from './gateways.module.css';

export function GatewayState({ gateway }: { readonly gateway: Gateway }) {
  const { gateways } = usePageStrings();
  const nowMs = useNow();
  const isOffline = useOfflineGateways().has(gateway.id);
  const { connected, last_seen: seen } = gateway;
  const heard = freshnessOf(seen === undefined ? undefined : Date.parse(seen), { nowMs });
  const state = connected ? 'online' : isOffline ? 'silent' : heard;
  return (
    <span className={`${page.state} ${classes.state}`} data-state={state}>
      {gateways.states[state]}
    </span>
  );
}
