// The number by which one store identifies a device; people and devices use its id.
export type DeviceKey = number & { readonly __brand?: 'DeviceKey' };
