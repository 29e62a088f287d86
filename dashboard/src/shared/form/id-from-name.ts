// An id as one would make it from a name by hand: "Champ 3, côté Nord" is `champ-3-cote-nord`. Empty where nothing is left.

/** Of ids that are made here: longer ones are nothing to type into a logger. */
const charsMax = 40;

export function idFromName(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, charsMax)
    .replaceAll(/^-+|-+$/g, '');
}

/** The id of a form whose name changes: it is made of the name until one is typed. */
export function idFollowing(form: { readonly name: string; readonly id: string }, name: string): string {
  return form.id === idFromName(form.name) ? idFromName(name) : form.id;
}
