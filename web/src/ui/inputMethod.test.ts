/// <reference types="node" />
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isComposing, withholdComposing } from "./inputMethod";

const press = (key: string, keyCode: number, composing: boolean) => Object.assign(new Event("keydown", { cancelable: true }), { key, keyCode, isComposing: composing });

/** Dispatches the key. Returns whether a handler got it, and whether the input method's default was prevented. */
function handled(key: string, keyCode: number, composing: boolean): { reached: boolean; prevented: boolean } {
  const page = new EventTarget();
  withholdComposing(page);
  let reached = false;
  page.addEventListener("keydown", () => (reached = true));
  const event = press(key, keyCode, composing);
  page.dispatchEvent(event);
  return { reached, prevented: event.defaultPrevented };
}

it("keeps every key of an input method from the page, in the order of events of each browser", () => {
  for (const key of ["Enter", "Escape", "Tab", "ArrowDown", "Backspace", "Process", " "])
    for (const [keyCode, composing] of [[229, true], [229, false], [13, true]] as const) expect(handled(key, keyCode, composing), `${key} ${keyCode} ${composing}`).toEqual({ reached: false, prevented: false });
});

it("leaves all other keys to the page", () => {
  for (const [key, keyCode] of [["Enter", 13], ["Escape", 27], ["Tab", 9], ["é", 0], ["Unidentified", 0]] as const) expect(handled(key, keyCode, false).reached).toBe(true);
  expect(isComposing({ isComposing: false, keyCode: 13 })).toBe(false);
});

it("is the only part of the page that knows of compositions, and starts before the page", () => {
  const source = join(import.meta.dirname, "..");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."));
  const mentions = files.filter((name) => /isComposing|compositionend|keyCode/.test(readFileSync(join(source, name), "utf8")));
  expect(mentions.toSorted()).toEqual([join("code", "Editor.tsx"), join("ui", "inputMethod.ts")]);
  const start = readFileSync(join(source, "main.tsx"), "utf8");
  expect(start.indexOf("withholdComposing(window);")).toBeGreaterThan(0);
  expect(start.indexOf("withholdComposing(window);")).toBeLessThan(start.indexOf("createRoot(document"));
});
