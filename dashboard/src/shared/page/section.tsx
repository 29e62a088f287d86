// A part of a page with a heading of its own: what it is about in a line, then its content in a readable width.
import { Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import classes from './section.module.css';

export interface SectionProps {
  readonly title: string;
  readonly words?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, words, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id}>
      <div className={classes.head}>
        <div>
          <Title order={2} fz={18} id={id}>
            {title}
          </Title>
          {words !== undefined && (
            <Text c="dimmed" fz="sm" mt={4}>
              {words}
            </Text>
          )}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}
