// What the one who asks may do with a device, as the server explains it; screens show what can be pressed by this.
import { queryOptions } from '@tanstack/react-query';
import { api, call } from './client.ts';
import { keys } from './query-keys.ts';

export interface Rights {
  readonly mayUpdate: boolean;
  readonly mayDelete: boolean;
  readonly mayReadData: boolean;
  readonly mayPush: boolean;
  readonly maySetActuators: boolean;
  /** Owner or admin: sees drops, shares and hands over. */
  readonly isManager: boolean;
}

/** Before the answer is there nothing may be pressed. */
export const noRights: Rights = {
  ...{ mayUpdate: false, mayDelete: false, mayReadData: false, mayPush: false },
  ...{ maySetActuators: false, isManager: false },
};

export function rightsQuery(device: string) {
  return queryOptions({
    queryKey: keys.rights(device),
    staleTime: 60_000,
    queryFn: async (): Promise<Rights> => {
      const params = { path: { device } };
      const { scopes, may_set_actuators: maySetActuators } = await call(
        api.GET('/api/v2/devices/{device}/permissions/explain', { params }),
      );
      const holds = (scope: string) => scopes.some((one) => one.scope === scope && one.held);
      return {
        mayUpdate: holds('devices:update'),
        mayDelete: holds('devices:delete'),
        mayReadData: holds('devices-data:view'),
        mayPush: holds('devices-data:create'),
        maySetActuators,
        isManager: scopes.some(({ from }) => from.some(({ reason }) => reason === 'owner' || reason === 'admin')),
      };
    },
  });
}
