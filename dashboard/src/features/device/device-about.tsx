// What is noted of a device besides its values: domain, whether it is in its place, how long values are kept, when it was
// made, and what its meta object holds.
import type { Device } from '../../api/client.ts';
import { RecordFields } from '../../shared/page/record-fields.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import classes from './section.module.css';

export function DeviceAbout({ device }: { readonly device: Device }) {
  const { tag, strings } = usePageLocale();
  const { device: words } = strings;
  const { domain, deployed, retention_days: days, meta, date_created: created, date_modified: modified } = device;
  const { notes, ...rest } = (meta ?? {}) as Readonly<Record<string, unknown>>;
  const localTime = (at: string) => new Date(at).toLocaleString(tag, { dateStyle: 'long', timeStyle: 'short' });
  const record = {
    ...(domain ? { [words.domain]: domain } : {}),
    ...(deployed === undefined ? {} : { [words.deployedState]: deployed ? words.yes : words.no }),
    ...(days === undefined ? {} : { [words.retention]: words.keptFor(days) }),
    ...rest,
    ...(typeof notes === 'string' ? { [words.meta]: notes } : notes === undefined ? {} : { notes }),
    [words.created]: localTime(created),
    [words.modified]: localTime(modified),
  };
  return (
    <section className={classes.section}>
      <h2 className={classes.heading}>{words.about}</h2>
      <RecordFields record={record} />
    </section>
  );
}
