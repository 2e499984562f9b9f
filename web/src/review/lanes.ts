// Where the lines run that join the steps of a plan: each step has a lane, and its line runs down the lane until the
// last step that comes after it. Pure.

/** A step as a point of the picture: its lane, the lanes that pass by, those that end in it, and whether its own goes on. */
export interface Place {
  lane: number;
  passing: number[];
  from: number[];
  on: boolean;
}

export interface Node {
  id: string;
  needs: readonly string[];
}

/** Places in the order of the steps; what a step needs and stands below it has no line. */
export function places(nodes: readonly Node[]): Place[] {
  const last = new Map<string, number>();
  nodes.forEach(({ needs }, row) => {
    for (const need of needs) if (nodes.slice(0, row).some(({ id }) => id === need)) last.set(need, row);
  });
  const lanes: (string | null)[] = []; // by lane: the step whose line runs in it
  return nodes.map(({ id, needs }, row) => {
    const from = lanes.flatMap((owner, lane) => (owner !== null && needs.includes(owner) ? [lane] : []));
    for (const lane of from) if (last.get(lanes[lane] ?? "") === row) lanes[lane] = null;
    const free = lanes.indexOf(null);
    const lane = free < 0 ? lanes.length : free;
    const passing = lanes.flatMap((owner, at) => (owner !== null ? [at] : []));
    const on = last.has(id);
    lanes[lane] = on ? id : null;
    return { lane, passing, from, on };
  });
}
