// What is known of a record as names with their values, beside or below each other as the page has room.
import type { ReactNode } from 'react';
import page from './record-page.module.css';

/** @param facts in order; a value that is an element needs a key. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={page.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
