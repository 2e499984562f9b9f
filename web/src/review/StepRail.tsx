// The lines at the left of a step of a plan: from the steps that it comes after, and on to those that come after it.
import type { Place } from "./lanes";

const LANE = 18; // px from one lane to the next
const DOT = 16; // px from the top of the row to the middle of the step's number
const x = (lane: number) => 12 + lane * LANE;

export const railWidth = (lanes: number) => 24 + (lanes - 1) * LANE;
export const railOffset = (place: Place) => place.lane * LANE;

export function StepRail({ place, lanes }: { place: Place; lanes: number }) {
  const { lane, passing, from, on } = place;
  return (
    <svg className="step-rail" width={railWidth(lanes)} height="100%" aria-hidden="true">
      {passing.map((at) => (
        <line key={at} x1={x(at)} x2={x(at)} y1="0" y2="100%" />
      ))}
      {from.map((at) => (
        <path key={at} d={`M ${x(at)} 0 C ${x(at)} ${DOT}, ${x(lane)} 0, ${x(lane)} ${DOT}`} />
      ))}
      {on && <line x1={x(lane)} x2={x(lane)} y1={DOT} y2="100%" />}
    </svg>
  );
}
