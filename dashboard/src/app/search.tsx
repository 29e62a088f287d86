// The search that Ctrl-K and `/` open over every page. Its dialog is loaded when it is first opened.
import { useHotkeys } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import { closeSearch, openSearch, useSearchOpen } from './search-state.ts';

const SearchDialog = lazy(async () => ({ default: (await import('./search-dialog.tsx')).SearchDialog }));

export function Search() {
  const isOpen = useSearchOpen();
  useHotkeys([
    ['mod+K', openSearch],
    ['/', openSearch],
  ]);
  return <Suspense>{isOpen && <SearchDialog onClose={closeSearch} />}</Suspense>;
}
