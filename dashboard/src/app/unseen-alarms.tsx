// How many alarms nobody has seen to, wherever one is: on the bell of the navigation, and before the title of the browser's tab.
import { VisuallyHidden } from '@mantine/core';
import { useEffect } from 'react';
import { useLiveAlarms, useUnseenAlarms } from '../api/alarms.ts';
import { useStrings } from '../strings/strings.ts';
import classes from './shell.module.css';

const atBeginning = /^\(\d+\+?\) /;

/** Keeps the number before the title, whatever page sets that. */
export function TitleBadge() {
  const count = useUnseenAlarms();
  useLiveAlarms();
  useEffect(() => {
    const title = document.querySelector('title');
    if (title === null) return;
    const put = () => {
      const plain = document.title.replace(atBeginning, '');
      const wanted = count === 0 ? plain : `(${shortCount(count)}) ${plain}`;
      if (document.title !== wanted) document.title = wanted;
    };
    put();
    const observer = new MutationObserver(put);
    observer.observe(title, { childList: true });
    return () => observer.disconnect();
  }, [count]);
  return null;
}

export function AlarmBadge() {
  const { now } = useStrings();
  const count = useUnseenAlarms();
  if (count === 0) return null;
  return (
    <span className={classes.badge}>
      <span aria-hidden="true">{shortCount(count)}</span>
      <VisuallyHidden>{now.unseen(count)}</VisuallyHidden>
    </span>
  );
}

function shortCount(count: number): string {
  return count > 99 ? '99+' : String(count);
}
