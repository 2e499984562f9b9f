// The lines beside a plan step: from the steps it depends on, and to those that depend on it.
import type { LanePlace } from "./lanes";
import styles from "./StepRail.module.css";

const LANE_WIDTH = 18; // pixels between lanes
const DOT_TOP = 16; // pixels from the top of the row to the middle of the step's number
const laneX = (lane: number) => 12 + lane * LANE_WIDTH;

export const railWidth = (lanes: number) => 24 + (lanes - 1) * LANE_WIDTH;
export const railOffset = (place: LanePlace) => place.lane * LANE_WIDTH;

export function StepRail({ place, lanes }: { place: LanePlace; lanes: number }) {
  const { lane, passing, from, continues } = place;
  return (
    <svg className={styles.rail} width={railWidth(lanes)} height="100%" aria-hidden="true">
      {passing.map((other) => (
        <line key={other} x1={laneX(other)} x2={laneX(other)} y1="0" y2="100%" />
      ))}
      {from.map((other) => (
        <path key={other} d={`M ${laneX(other)} 0 C ${laneX(other)} ${DOT_TOP}, ${laneX(lane)} 0, ${laneX(lane)} ${DOT_TOP}`} />
      ))}
      {continues && <line x1={laneX(lane)} x2={laneX(lane)} y1={DOT_TOP} y2="100%" />}
    </svg>
  );
}
