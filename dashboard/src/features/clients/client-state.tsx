// Whether an MQTT client is connected, or away with a session that is kept.
import type { Schemas } from '../../api/client.ts';
import page from '../../shared/page/record-page.module.css';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './clients.module.css';

export function ClientState({ client }: { readonly client: Schemas['MqttClient'] }) {
  const { clients } = usePageStrings();
  const state = client.connected ? 'connected' : 'kept';
  return (
    <span className={`${page.state} ${classes.state}`} data-state={state}>
      {clients.states[state]}
    </span>
  );
}
