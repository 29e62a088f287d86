// The number by which a store identifies a device. It stays within the service; users and devices know the id.
export type DeviceKey = number & { readonly __brand?: 'DeviceKey' };
