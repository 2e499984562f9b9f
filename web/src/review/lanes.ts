// The layout of the dependency lines of a plan: each step has a lane, and its line runs down that lane to the last step
// that depends on it. Pure.

/**
 * A step in the picture: its lane, lanes that pass by, lanes that end here, and whether its own lane continues below.
 */
export interface LanePlace {
  lane: number;
  passing: number[];
  from: number[];
  continues: boolean;
}

interface LaneNode {
  id: string;
  needs: readonly string[];
}

/** The places in step order. A dependency on a step further down has no line. */
export function layoutLanes(nodes: readonly LaneNode[]): LanePlace[] {
  const lastUse = new Map<string, number>();
  nodes.forEach(({ needs }, row) => {
    for (const need of needs) if (nodes.slice(0, row).some(({ id }) => id === need)) lastUse.set(need, row);
  });
  const lanes: (string | null)[] = []; // by lane: the step whose line runs in it
  return nodes.map(({ id, needs }, row) => {
    const from = lanes.flatMap((owner, lane) => (owner !== null && needs.includes(owner) ? [lane] : []));
    for (const lane of from) if (lastUse.get(lanes[lane] ?? "") === row) lanes[lane] = null;
    const free = lanes.indexOf(null);
    const lane = free < 0 ? lanes.length : free;
    const passing = lanes.flatMap((owner, other) => (owner !== null ? [other] : []));
    const continues = lastUse.has(id);
    lanes[lane] = continues ? id : null;
    return { lane, passing, from, continues };
  });
}
