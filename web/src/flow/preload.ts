import { loadFlows } from "./flows";

/** Loads the flow components before a path arrives: a late chunk would shift the page under the user's finger. */
export function preloadFlowViews(): void {
  void loadFlows();
  for (const chunk of [import("./FlowCard"), import("./Graph"), import("./TablesQuestion"), import("./SqlApproval")]) chunk.catch(() => undefined);
}
