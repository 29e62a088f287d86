// Client ids in addresses. Browsers take `.` and `..` out of every path, also as `%2E`: these two, and ids that look like them
// escaped, are escaped once more, as the service reads them.
const looksLikeDots = /^(\.|%(25)*2E){1,2}$/i;
const isPlaceOfDots = /^(%(25)*2E){1,2}$/i;

export function placeOf(client: string): string {
  return looksLikeDots.test(client) ? client.replaceAll('%', '%25').replaceAll('.', '%2E') : client;
}

export function clientAt(place: string): string {
  return isPlaceOfDots.test(place) ? decodeURIComponent(place) : place;
}
