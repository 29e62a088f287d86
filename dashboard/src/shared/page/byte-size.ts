// A number of bytes as people read it: `12.5 MB`.
const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;

export function byteSize(bytes: number, tag: string): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const unitDisplay = step === 0 ? 'long' : 'short';
  const format = { style: 'unit', unit: units[step] ?? 'byte', unitDisplay, maximumSignificantDigits: 3 } as const;
  return new Intl.NumberFormat(tag, format).format(bytes / 1000 ** step);
}
