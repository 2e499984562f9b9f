import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";

const FOLDER = import.meta.dirname;
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."))
  .map((name) => join(FOLDER, name));

/** The modules that a module imports, for types too. */
function importsOf(file: string): string[] {
  const matches = readFileSync(file, "utf8").matchAll(/(?:^(?:import|export) [^;"]*?from |^import |import\()"(\.[^"]+)"/gm);
  const paths = [...matches].map((match) => resolve(dirname(file), match[1] ?? ""));
  return paths.flatMap((name) => files.filter((file) => file === `${name}.ts` || file === `${name}.tsx`));
}

it("modules do not import each other in a cycle", () => {
  const graph = new Map(files.map((file) => [file, importsOf(file)]));
  const cycles: string[] = [];
  const visited = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    if (trail.includes(file)) cycles.push([...trail.slice(trail.indexOf(file)), file].map((file) => file.slice(FOLDER.length + 1)).join(" → "));
    if (trail.includes(file) || visited.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    visited.add(file);
  };
  for (const file of files) visit(file, []);
  expect([...graph.values()].flat().length).toBeGreaterThan(100);
  expect(cycles).toEqual([]);
});
