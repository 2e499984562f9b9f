import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";

// Names that are not used, with their replacements. tests/unit/test_names.py checks the services with the same list.
const TERMS = JSON.parse(readFileSync(join(import.meta.dirname, "../../tests/unit/standard_terms.json"), "utf8")) as { everywhere: Record<string, string> };
const DECLARATION = /\b(?:function|class|interface|type) (\w+)|\b(?:const|let) (\w+)(?:: [^=]+)? = (?:async )?(?:\([^)]*\)|\w+)(?:: [^=]+)? =>/g;
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !name.startsWith("generated"));

/** The names of the module and of its functions, classes and types. */
function declaredNames(file: string): string[] {
  const source = readFileSync(join(import.meta.dirname, file), "utf8");
  const declared = [...source.matchAll(DECLARATION)].map((match) => match[1] ?? match[2] ?? "");
  return [basename(file).replace(/(\.test)?\.tsx?$/, ""), ...declared];
}

it("declared names avoid the terms that the list replaces", () => {
  const terms = new Map(Object.entries(TERMS.everywhere));
  const violations = files.flatMap((file) => declaredNames(file).flatMap((name) => (terms.has(name) ? [`${file}: ${name}: ${terms.get(name)}`] : [])));
  expect(files.flatMap(declaredNames).length).toBeGreaterThan(500);
  expect(violations).toEqual([]);
});
