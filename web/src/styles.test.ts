import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const FOLDER = import.meta.dirname;
const LIBRARIES = /^(mantine|cm|react-flow)/; // whose elements have classes of their own
const LIBRARY_CLASSES = ["nopan"]; // which a component sets for a library

const paths = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).map((name) => join(FOLDER, name));
const components = paths.filter((path) => path.endsWith(".tsx"));
const modules = paths.filter((path) => path.endsWith(".module.css"));
const nameOf = (path: string) => relative(FOLDER, path);

/** The classes that a style sheet has rules for, and those of libraries that it restyles. */
function classesOf(sheet: string): Set<string> {
  const rules = readFileSync(sheet, "utf8").replaceAll(/\/\*.*?\*\//gs, "");
  const selectors = [...rules.matchAll(/([^{};]+)\{/g)].map(([, selector = ""]) => selector);
  return new Set(selectors.flatMap((selector) => [...selector.matchAll(/\.([a-z_][\w-]*)/gi)].map(([, name = ""]) => name)));
}

/** The modules that a component imports, by the name it gives them. */
function importsOf(component: string): Map<string, string> {
  const imports = readFileSync(component, "utf8").matchAll(/^import (\w+) from "(.+\.module\.css)";/gm);
  return new Map([...imports].map(([, name = "", path = ""]) => [name, resolve(dirname(component), path)]));
}

/** The classes that a component takes from the modules, as pairs of module and class. */
function usesOf(component: string): { module: string; name: string }[] {
  const source = readFileSync(component, "utf8");
  return [...importsOf(component)].flatMap(([styles, module]) =>
    [...source.matchAll(new RegExp(`(?<![/\\w])${styles}\\.(\\w+)`, "g"))].map(([, name = ""]) => ({ module, name })),
  );
}

it("rules for classes stand in the module of a component", () => {
  const sheets = paths.filter((path) => path.endsWith(".css") && !modules.includes(path));
  const own = sheets.flatMap((sheet) => [...classesOf(sheet)].filter((name) => !LIBRARIES.test(name)));
  expect(sheets.map(nameOf)).toEqual(["global.css"]);
  expect(own).toEqual([]);
});

it("components name only classes that their modules have", () => {
  const has = new Map(modules.map((module) => [module, classesOf(module)]));
  const unknown = components.flatMap((component) =>
    usesOf(component).flatMap(({ module, name }) => (has.get(module)?.has(name) ? [] : [`${nameOf(component)}: ${nameOf(module)} has no .${name}`])),
  );
  const literal = components.flatMap((component) =>
    [...readFileSync(component, "utf8").matchAll(/className="([^"]*)"/g)].flatMap(([, name = ""]) =>
      LIBRARY_CLASSES.includes(name) ? [] : [`${nameOf(component)}: "${name}" is in no module`],
    ),
  );
  expect(components.flatMap(usesOf).length).toBeGreaterThan(300);
  expect([...unknown, ...literal]).toEqual([]);
});

it("modules have only classes that a component names", () => {
  const used = new Set(components.flatMap(usesOf).map(({ module, name }) => `${module} ${name}`));
  const unused = modules.flatMap((module) =>
    [...classesOf(module)].flatMap((name) => (used.has(`${module} ${name}`) || LIBRARIES.test(name) || LIBRARY_CLASSES.includes(name) ? [] : [`${nameOf(module)}: .${name}`])),
  );
  expect(unused).toEqual([]);
});

it("nothing looks for an element by its class: the build renames classes", () => {
  const queries = paths.filter((path) => /\.tsx?$/.test(path) && !path.includes(".test.")).flatMap((path) =>
    [...readFileSync(path, "utf8").matchAll(/(?:querySelector(?:All)?|closest|matches)(?:<[^(]*>)?\(["'`][^"'`]*\.[a-z]/g)].map(([query]) => `${nameOf(path)}: ${query}`),
  );
  expect(queries).toEqual([]);
});
