// Files that come in and go out: history of a logger or of another service, and the values of a device.
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { Section } from '../../shared/page/section.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { type ChosenFile, openFile } from './chosen-file.ts';
import { DropZone } from './drop-zone.tsx';
import { ExportForm } from './export-form.tsx';
import { ImportForm } from './import-form.tsx';

const route = getRouteApi('/import');

export function ImportPage() {
  const { imports } = usePageStrings();
  const { device = '' } = route.useSearch();
  const [chosen, setChosen] = useState<ChosenFile>();
  const choose = async (file: File) => setChosen(await openFile(file));
  return (
    <>
      <PageHeader title={imports.title} />
      <Section title={imports.importTitle} words={imports.importWords}>
        {chosen === undefined ? (
          <DropZone onFile={(file) => void choose(file)} />
        ) : (
          <ImportForm
            key={`${chosen.file.name}/${chosen.file.size}/${chosen.file.lastModified}`}
            chosen={chosen}
            device={device}
            onEncoding={async (encoding) => setChosen(await openFile(chosen.file, encoding))}
            onAnother={() => setChosen(undefined)}
          />
        )}
      </Section>
      {chosen === undefined && (
        <Section title={imports.exportTitle} words={imports.exportWords}>
          <ExportForm device={device} />
        </Section>
      )}
    </>
  );
}
