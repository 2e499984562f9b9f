import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";

const FOLDER = import.meta.dirname;
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."))
  .map((name) => join(FOLDER, name));

/** The modules that a module needs when it runs; types are gone by then. */
function needs(file: string): string[] {
  const found = readFileSync(file, "utf8").matchAll(/(?:^import (?!type )[^;]*?from |^import |import\()"(\.[^"]+)"/gm);
  const named = [...found].map((one) => resolve(dirname(file), one[1] ?? ""));
  return named.flatMap((name) => files.filter((one) => one === `${name}.ts` || one === `${name}.tsx`));
}

it("imports go round in no circle", () => {
  const graph = new Map(files.map((file) => [file, needs(file)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].map((one) => one.slice(FOLDER.length + 1)).join(" → "));
    if (way.includes(file) || done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect([...graph.values()].flat().length).toBeGreaterThan(100);
  expect(circles).toEqual([]);
});
