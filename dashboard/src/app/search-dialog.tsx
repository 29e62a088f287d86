// The dialog of the search: what is typed finds pages at once, and devices, sensors and notifications on the server.
// Arrows choose, Enter goes there.
import { Modal, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useState } from 'react';
import { limits } from '../limits.ts';
import { Icon } from '../shared/page/icon.tsx';
import { useStrings } from '../strings/strings.ts';
import classes from './search-dialog.module.css';
import { takeEarly } from './search-state.ts';
import { type Hit, useHits } from './use-hits.ts';

export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const { shell } = useStrings();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [asked] = useDebouncedValue(text.trim(), limits.searchPauseMs);
  const { hits, isSearching } = useHits(text.trim(), asked);
  const listId = useId();
  const open = (hit: Hit) => {
    onClose();
    void navigate({ href: hit.href } as never);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((at) => (hits.length === 0 ? 0 : (at + step + hits.length) % hits.length));
    }
    const hit = hits[chosen];
    if (event.key === 'Enter' && hit !== undefined) open(hit);
  };
  return (
    <Modal
      attributes={{ content: { 'aria-label': shell.search } }}
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size={560}
      yOffset="12vh"
      centered={false}
    >
      <TextInput
        data-autofocus
        classNames={{ input: classes.input ?? '' }}
        variant="unstyled"
        size="lg"
        leftSection={<Icon name="search" />}
        placeholder={shell.searchHint}
        aria-label={shell.search}
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={hits.length === 0 ? undefined : `${listId}-${chosen}`}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onFocus={() => {
          const early = takeEarly();
          if (early !== '') setText((typed) => typed + early);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label={shell.search} className={classes.list}>
        {hits.map((hit, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are taken by the field above, which keeps the focus.
          // biome-ignore lint/a11y/useFocusableInteractive: the same.
          <div
            key={`${hit.kind} ${hit.href}`}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={classes.hit}
            onClick={() => open(hit)}
            onMouseMove={() => setChosen(index)}
          >
            <Icon name={hit.icon} />
            <span className="d-ellipsis">{hit.title}</span>
            <span className={`${classes.detail} d-ellipsis`}>{hit.detail}</span>
          </div>
        ))}
      </div>
      {hits.length === 0 && !isSearching && <div className={classes.nothing}>{shell.searchNothing}</div>}
    </Modal>
  );
}
