// An announcement as the text of a row. Bytes of a message are base64.
import type { Announcement } from '../../../domain/ports/announcement.ts';

export function textOf(announcement: Announcement): string {
  if (announcement.kind !== 'actuator-set' || announcement.original === undefined) return JSON.stringify(announcement);
  // Its fields may be computed.
  const { payload, bytes, qos, retain, user, properties, expiresMs } = announcement.original;
  const text = (data: Uint8Array) => Buffer.from(data).toString('base64');
  const said = { properties: properties && text(properties), expiresMs };
  const original = { payload: text(payload), bytes, qos, retain, user, ...said };
  return JSON.stringify({ ...announcement, original });
}

export function announcementOf(text: string): Announcement {
  const parsed = JSON.parse(text) as Announcement;
  if (parsed.kind !== 'actuator-set' || parsed.original === undefined) return parsed;
  const payload = Buffer.from(parsed.original.payload as unknown as string, 'base64');
  const { properties } = parsed.original as unknown as { readonly properties?: string };
  const said = properties === undefined ? {} : { properties: Buffer.from(properties, 'base64') };
  return { ...parsed, original: { ...parsed.original, payload, ...said } };
}
