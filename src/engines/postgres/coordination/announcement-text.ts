// An announcement as the text of a row. Bytes of a message are base64.
import type { Announcement } from '../../../domain/ports/announcement.ts';

export function textOf(announcement: Announcement): string {
  if (announcement.kind !== 'actuator-set' || announcement.original === undefined) return JSON.stringify(announcement);
  // Its fields may be computed.
  const { payload, bytes, qos, retain, user } = announcement.original;
  const original = { payload: Buffer.from(payload).toString('base64'), bytes, qos, retain, user };
  return JSON.stringify({ ...announcement, original });
}

export function announcementOf(text: string): Announcement {
  const parsed = JSON.parse(text) as Announcement;
  if (parsed.kind !== 'actuator-set' || parsed.original === undefined) return parsed;
  const payload = Buffer.from(parsed.original.payload as unknown as string, 'base64');
  return { ...parsed, original: { ...parsed.original, payload } };
}
