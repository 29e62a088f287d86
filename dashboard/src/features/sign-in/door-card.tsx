// The card in the middle of the pages that stand before the dashboard: sign in, register.
import { Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import classes from './door-card.module.css';

export function DoorCard({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Dundun`;
  }, [title]);
  return (
    <div className={classes.card}>
      <img src="/drum.svg" alt="" width={44} height={44} />
      <Title order={1} fz={24} mt={12} mb={24} id="page-title" tabIndex={-1}>
        {title}
      </Title>
      {children}
    </div>
  );
}
