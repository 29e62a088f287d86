// An entry among alarms that is none: something that is wrong and of which no alarm says it.
import type { ReactNode } from 'react';
import { Icon, type IconName } from '../page/icon.tsx';
import classes from './alarm-list.module.css';

interface AlarmEntryProps {
  readonly icon: IconName;
  readonly title: ReactNode;
  readonly detail: ReactNode;
}

/** Something wrong that no alarm says, which looks as they do. */
export function AlarmEntry({ icon, title, detail }: AlarmEntryProps) {
  return (
    <li className={classes.row} data-state="active">
      <span className={classes.icon}>
        <Icon name={icon} size={20} />
      </span>
      <div className={classes.words}>
        <span className={classes.title}>{title}</span>
        <span className={`${classes.detail} ${classes.place}`}>{detail}</span>
      </div>
    </li>
  );
}
