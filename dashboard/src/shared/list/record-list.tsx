// A plain list of records, each a row that opens its page: name, a detail, an age.
import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactNode, Ref } from 'react';
import { Age } from '../device/age.tsx';
import classes from './record-list.module.css';

export function RecordList({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <ul className={classes.list} aria-label={label}>
      {children}
    </ul>
  );
}

/** What its columns are, where that is not plain. */
export function RecordHead({ title, detail, at }: Readonly<Record<'title' | 'detail' | 'at', string>>) {
  return (
    <div className={`${classes.row} ${classes.head}`} aria-hidden="true">
      <span className={classes.title}>{title}</span>
      <span className={classes.detail}>{detail}</span>
      <span>{at}</span>
    </div>
  );
}

interface RowProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'title'> {
  readonly title: ReactNode;
  readonly detail?: ReactNode;
  readonly at?: string | undefined;
  readonly ref?: Ref<HTMLAnchorElement>;
}

function Row({ title, detail, at, ...anchor }: RowProps) {
  return (
    <li>
      <a {...anchor} className={classes.row}>
        <span className={`${classes.title} d-ellipsis`}>{title}</span>
        <span className={`${classes.detail} d-ellipsis`}>{detail}</span>
        {at !== undefined && <Age at={at} quiet />}
      </a>
    </li>
  );
}

const LinkedRow = createLink(Row);

/** Takes `to` and `params` as every link does. */
export const RecordLink: LinkComponent<typeof Row> = (props) => <LinkedRow preload="intent" {...props} />;
