// Follows a device live: each new datapoint and each setting of an actuator as it is committed.
import { useEffect, useEffectEvent, useState } from 'react';
import { followEvents } from './event-stream.ts';

export interface LiveDatapoint {
  readonly device_id: string;
  readonly sensor_id: string;
  readonly value: unknown;
  readonly timestamp?: string;
  readonly date_received: string;
}

export interface LiveSetting {
  readonly device_id: string;
  readonly actuator_id: string;
  readonly value: unknown;
}

export interface LiveHandlers {
  readonly onDatapoint?: (point: LiveDatapoint) => void;
  readonly onActuator?: (setting: LiveSetting) => void;
  /** More was missed than the server repeats: read again what is shown. */
  readonly onGap?: () => void;
}

/** Follows while the component is there; true while the stream stands. `device` undefined follows nothing. */
export function useLive(device: string | undefined, handlers: LiveHandlers): boolean {
  const [isOpen, setOpen] = useState(false);
  const onEvent = useEffectEvent((event: string, data: unknown) => {
    if (event === 'datapoint') handlers.onDatapoint?.(data as LiveDatapoint);
    if (event === 'actuator') handlers.onActuator?.(data as LiveSetting);
    if (event === 'gap') handlers.onGap?.();
  });
  useEffect(() => {
    if (device === undefined) return;
    const stop = new AbortController();
    const url = `/api/v2/devices/${encodeURIComponent(device)}/live`;
    void followEvents(new URL(url, window.location.origin).href, {
      signal: stop.signal,
      onState: setOpen,
      onEvent: ({ event, data }) => onEvent(event, data),
    }).then(() => {
      // It is deleted, or no longer for who looks: whoever shows it asks again and hears so.
      if (!stop.signal.aborted) onEvent('gap', undefined);
    });
    return () => stop.abort();
  }, [device]);
  return isOpen;
}
