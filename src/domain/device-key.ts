// The number of a device within one store, for what is kept beside it; its id is what people and devices use.
export type DeviceKey = number & { readonly __brand?: 'DeviceKey' };
