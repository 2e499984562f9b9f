import { ask } from "./flows";

/** Have what shows a path at hand before there is one: what comes late moves the page under a person's finger. */
export function prepare(): void {
  void ask();
  for (const part of [import("./FlowCard"), import("./Graph"), import("./TablesQuestion"), import("./SqlApproval")]) part.catch(() => undefined);
}
