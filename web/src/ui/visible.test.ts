import { expect, it } from "vitest";
import { visible } from "./visible";

it("shows what would reorder or hide text by its number", () => {
  expect(visible("refund \u202eelgnis\u202c to \u2067x\u2069")).toBe("refund <U+202E>elgnis<U+202C> to <U+2067>x<U+2069>");
  expect(visible("a\u001b[2Jb\u007f\u009b")).toBe("a<U+001B>[2Jb<U+007F><U+009B>");
  expect(visible("pay\u200b\u2060\ufeff\u00ad\u2028")).toBe("pay<U+200B><U+2060><U+FEFF><U+00AD><U+2028>");
  expect(visible("ok\u{e006f}")).toBe("ok<U+E006F>");
});

it("leaves what people write as it is", () => {
  for (const text of ["a\tb\nc\r\n", "שלום עולם", "می‌خواهم", "👩‍💻 ❤️", "naïve – “yes”"]) expect(visible(text)).toBe(text);
});
