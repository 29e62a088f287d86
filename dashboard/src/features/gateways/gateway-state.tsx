// Whether a gateway is there: connected over MQTT, or heard of lately by a heartbeat.
import { freshnessOf } from '../../shared/device/freshness.ts';
import page from '../../shared/page/record-page.module.css';
import { useNow } from '../../shared/page/use-now.ts';
import { useStrings } from '../../strings/strings.ts';
import type { Gateway } from './gateway.ts';
import classes from './gateways.module.css';

export function GatewayState({ gateway }: { readonly gateway: Gateway }) {
  const { gateways } = useStrings();
  const nowMs = useNow();
  const { connected, last_seen: seen } = gateway;
  const heard = freshnessOf(seen === undefined ? undefined : Date.parse(seen), { nowMs });
  const state = connected ? 'online' : heard;
  return (
    <span className={`${page.state} ${classes.state}`} data-state={state}>
      {gateways.states[state]}
    </span>
  );
}
