// The device that an import or export is about, as it stands behind the `?`; the page of a device leads here with it.

export interface ImportSearch {
  readonly device?: string | undefined;
}

export function parseImportSearch({ device }: Record<string, unknown>): ImportSearch {
  return { device: device === undefined || device === '' ? undefined : String(device) };
}
