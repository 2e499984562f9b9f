// Offsets of drafts count characters (Unicode code points), JavaScript's strings count UTF-16 units.

const SURROGATES = /[\uD800-\uDFFF]/;

export function length(text: string): number {
  return SURROGATES.test(text) ? Array.from(text).length : text.length;
}

/** The first `count` characters of the text. */
export function head(text: string, count: number): string {
  return SURROGATES.test(text) ? Array.from(text).slice(0, count).join("") : text.slice(0, count);
}
