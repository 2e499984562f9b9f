// Draft offsets count Unicode code points, but JavaScript strings count UTF-16 units.

const SURROGATES = /[\uD800-\uDFFF]/;

export function codePointLength(text: string): number {
  return SURROGATES.test(text) ? Array.from(text).length : text.length;
}

/** The first `count` code points of the text. */
export function codePointPrefix(text: string, count: number): string {
  return SURROGATES.test(text) ? Array.from(text).slice(0, count).join("") : text.slice(0, count);
}
