// A catalogue of the dashboard as tests read it: both parts in one.

/** @param language as its files are called, such as `fr`. */
// biome-ignore lint/suspicious/noExplicitAny: a test says which texts it expects there.
export async function catalogueOf(language: string): Promise<Readonly<Record<string, any>>> {
  const load = async (file: string) =>
    (await import(new URL(`../../dashboard/src/strings/${file}.ts`, import.meta.url).href)) as Record<string, object>;
  const [first, pages] = [await load(language), await load(`pages-${language}`)];
  return { ...first[language], ...pages[`${language}Pages`] };
}
