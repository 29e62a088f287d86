// What a message of a rule is about, for programs that receive it (webhooks): device, sensor, value, time and the rule. Made
// when the rule fires and stored with the message, because all of it may have changed when the message is sent.

import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import { namedSensorOf } from '../../devices/former-ids/sensors-with-former.ts';
import type { FiringEvent } from '../rules/firing.ts';
import type { NotificationId } from '../rules/notification.ts';
import { describedSensorOf, linkOf, type TextSubject } from '../rules/variables.ts';

interface Occasion extends TextSubject {
  readonly event: FiringEvent;
  readonly id: NotificationId;
}

/** As JSON, for the body of a webhook. Values of more than `occasionValueCharsMax` characters as JSON are left out. */
export function occasionOf({ id, ...subject }: Occasion): string {
  const { device, isDescribed, event, lookup } = subject;
  const sensor = describedSensorOf(subject);
  const value = lookup(event.sensor);
  const isShort = value !== undefined && JSON.stringify(value).length <= limits.occasionValueCharsMax;
  const unit = sensor?.unit?.slice(0, limits.wordCharsMax).toWellFormed();
  return JSON.stringify({
    notification: id,
    event: event.kind === 'fires' ? 'fired' : 'recovered',
    device_id: device.id,
    ...(isDescribed && device.name ? { device_name: device.name } : {}),
    sensor_id: namedSensorOf(device, event.sensor)?.id ?? event.sensor,
    ...(sensor?.name ? { sensor_name: sensor.name } : {}),
    ...(isShort ? { value } : {}),
    ...(unit ? { unit } : {}),
    timestamp: formatTimestamp(event.atMs),
    link: linkOf(subject),
  });
}
