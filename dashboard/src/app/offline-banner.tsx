// Says that there is no connection, as long as there is none.
import { useNetwork } from '@mantine/hooks';
import { useStrings } from '../strings/strings.ts';
import classes from './shell.module.css';

export function OfflineBanner() {
  const { shell } = useStrings();
  const { online } = useNetwork();
  return (
    <div role="status" className={online ? undefined : classes.offline}>
      {online ? '' : shell.offline}
    </div>
  );
}
