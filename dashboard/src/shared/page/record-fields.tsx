// The fields of a record as they are, name beside value; whatever is no text as JSON.
import classes from './record-fields.module.css';

export function RecordFields({ record }: { readonly record: object }) {
  return (
    <dl className={classes.fields}>
      {Object.entries(record).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : JSON.stringify(value, null, 1)}</dd>
        </div>
      ))}
    </dl>
  );
}
