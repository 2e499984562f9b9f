import { expect, it } from "vitest";
import { escapeInvisible } from "./invisibleCharacters";

it("replaces invisible characters and those that reorder text with their code points", () => {
  expect(escapeInvisible("refund \u202eelgnis\u202c to \u2067x\u2069")).toBe("refund <U+202E>elgnis<U+202C> to <U+2067>x<U+2069>");
  expect(escapeInvisible("a\u001b[2Jb\u007f\u009b")).toBe("a<U+001B>[2Jb<U+007F><U+009B>");
  expect(escapeInvisible("pay\u200b\u2060\ufeff\u00ad\u2028")).toBe("pay<U+200B><U+2060><U+FEFF><U+00AD><U+2028>");
  expect(escapeInvisible("ok\u{e006f}")).toBe("ok<U+E006F>");
});

it("leaves ordinary text unchanged", () => {
  for (const text of ["a\tb\nc\r\n", "שלום עולם", "می‌خواهم", "👩‍💻 ❤️", "naïve – “yes”"]) expect(escapeInvisible(text)).toBe(text);
});
