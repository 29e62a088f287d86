// The head of every page: its title (which also names the browser's tab and takes the focus after navigation), what it
// is about in a line, and its acts at the right.
import { Group, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { isolated } from '../../strings/isolated.ts';
import classes from './page-header.module.css';

export interface PageHeaderProps {
  readonly title: string;
  /** What stands in place of the plain title, such as a name that is edited in place. */
  readonly heading?: ReactNode;
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
}

export function PageHeader({ title, heading, subtitle, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${isolated(title)} · Dundun`;
  }, [title]);
  return (
    <Group className={classes.header} justify="space-between" align="flex-start" wrap="wrap" gap="sm">
      <div className={classes.words}>
        <Title order={1} fz={26} lh={1.2} id="page-title" tabIndex={-1} className={classes.title}>
          {heading ?? (
            <span className="d-clamp" title={title}>
              {title}
            </span>
          )}
        </Title>
        {subtitle !== undefined && (
          <Text component="div" c="dimmed" fz="sm" mt={4}>
            {subtitle}
          </Text>
        )}
      </div>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
