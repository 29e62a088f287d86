// What vite.config.ts makes of Natural Earth.
declare module 'virtual:coastlines' {
  export const coastlines: { readonly land: readonly string[]; readonly borders: readonly string[] };
}
