// Whether an MQTT client is connected, or away with a session that is kept.
import type { Schemas } from '../../api/client.ts';
import { useStrings } from '../../strings/strings.ts';
import classes from './clients.module.css';

export function ClientState({ client }: { readonly client: Schemas['MqttClient'] }) {
  const { clients } = useStrings();
  const state = client.connected ? 'connected' : 'kept';
  return (
    <span className={classes.state} data-state={state}>
      {clients.states[state]}
    </span>
  );
}
