// A count with its noun, for the catalogues: `counted(3, 'sensor', 'sensors')`.

const english = new Intl.NumberFormat('en');
const french = new Intl.NumberFormat('fr');

export function counted(count: number, one: string, many: string): string {
  return `${english.format(count)} ${count === 1 ? one : many}`;
}

/** French counts nought and one alike. */
export function countedInFrench(count: number, one: string, many: string): string {
  return `${french.format(count)} ${Math.abs(count) < 2 ? one : many}`;
}
