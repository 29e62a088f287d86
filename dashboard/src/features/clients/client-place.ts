// Client ids in addresses. Browsers take `.` and `..` out of every path, also as `%2E`: these two are written with that as
// text, as the service reads them.
const dots: Readonly<Record<string, string>> = { '.': '%2E', '..': '%2E%2E' };

export function placeOf(client: string): string {
  return dots[client] ?? client;
}

export function clientAt(place: string): string {
  return Object.keys(dots).find((client) => dots[client] === place) ?? place;
}
