// Every icon of the dashboard, as strokes on a grid of 24; in the colour of the text they stand in. Icons are
// decoration: what they stand for is said beside them or by the label of their button.

const paths = {
  devices: 'M5 7h14v10H5z M9 21h6 M12 17v4 M9 11h.01 M12 11h3',
  sensor: 'M3 14h4l3-8 4 12 3-8h4',
  map: 'M9 4 3 6.5v13L9 17l6 3 6-2.5v-13L15 7z M9 4v13 M15 7v13',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15z M10 21h4',
  message: 'M4 5h16v11H10l-5 4v-4H4z M8 9h8 M8 12.5h5',
  gateway: 'M12 13v7 M8 20h8 M8.5 9.5a5 5 0 0 1 7 0 M5.5 6.5a9.2 9.2 0 0 1 13 0 M12 13h.01',
  project: 'M4 6h6l2 2h8v11H4z',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z M2.5 20a6.5 6.5 0 0 1 13 0 M16 4.5a3.5 3.5 0 0 1 0 6 M18 14a6.5 6.5 0 0 1 3.5 6',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z M4.5 21a7.5 7.5 0 0 1 15 0',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z M20 20l-4.8-4.8',
  plus: 'M12 5v14 M5 12h14',
  close: 'M6 6l12 12 M18 6 6 18',
  check: 'M5 12.5 10 17.5 19.5 7',
  copy: 'M9 9h11v11H9z M5 15H4V4h11v1',
  import: 'M12 15V4 M7.5 8.5 12 4l4.5 4.5 M4 20h16',
  more: 'M5 12h.01 M12 12h.01 M19 12h.01',
  menu: 'M4 7h16 M4 12h16 M4 17h16',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z M12 2v2 M12 20v2 M2 12h2 M20 12h2 M5 5l1.5 1.5 M17.5 17.5 19 19 M19 5l-1.5 1.5 M6.5 17.5 5 19',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3z M5 17a3 3 0 0 1 3-3h11',
  out: 'M10 5H5v14h5 M15 8l4 4-4 4 M9 12h10',
  back: 'M15 5l-7 7 7 7',
  forward: 'M9 5l7 7-7 7',
  sort: 'M7 5v14 M3.5 15.5 7 19l3.5-3.5 M17 19V5 M13.5 8.5 17 5l3.5 3.5',
  pin: 'M12 21s-7-6.5-7-11.5a7 7 0 0 1 14 0C19 14.5 12 21 12 21z M12 12a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  edit: 'M4 20l1-4L16 5l3 3L8 19z',
  share:
    'M8.5 13a3 3 0 1 1-5 0 3 3 0 0 1 5 0z M17 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M17 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M8.5 11l6-4 M8.5 14l6 3',
  trash: 'M4 7h16 M9 7V4h6v3 M6 7l1 13h10l1-13 M10 11v5 M14 11v5',
  tag: 'M4 4h8l8 8-8 8-8-8z M8.5 8.5h.01',
  key: 'M14.5 13.5a5 5 0 1 0-4-4L4 16v4h4l.5-2.5 2-.5.5-2z M15.5 8.5h.01',
  download: 'M12 4v11 M7.5 10.5 12 15l4.5-4.5 M4 20h16',
  lock: 'M6 11h12v9H6z M8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z M3 12h18 M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9S9 6 12 3z',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  steady: 'M5 12h14',
  qr: 'M4 4h6v6H4z M14 4h6v6h-6z M4 14h6v6H4z M14 14h3v3 M20 14v.01 M14 20h.01 M20 17v3h-3',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1 M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  tune: 'M4 8h9 M17 8h3 M15 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z M4 16h3 M11 16h9 M9 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  image: 'M4 5h16v14H4z M4 16l5-5 4 4 3-3 4 4 M9 9h.01',
  server: 'M4 4.5h16v6H4z M4 13.5h16v6H4z M7.5 7.5h.01 M7.5 16.5h.01 M11 7.5h5 M11 16.5h5',
  warning: 'M12 4 2.5 20h19z M12 10v4 M12 17h.01',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
