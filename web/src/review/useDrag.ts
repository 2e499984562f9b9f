// Moving a row of a list by its grip, with a mouse, a pen or a finger.
import { type PointerEvent as ReactPointerEvent, type RefObject, useEffect, useEffectEvent, useState } from "react";

const EDGE = 56; // px from the edge of what scrolls in which it scrolls along
const STEP = 8; // px a frame

/** `move` is called with the row's key and its new place, each time it comes to stand elsewhere. */
export function useDrag(list: RefObject<HTMLElement | null>, move: (key: number, to: number) => void) {
  const [dragged, setDragged] = useState<number | null>(null);

  const follow = useEffectEvent((y: number) => {
    const rows = [...(list.current?.children ?? [])] as HTMLElement[];
    const row = rows.find((one) => one.dataset.key === String(dragged));
    if (!row || dragged === null) return;
    const to = rows.filter((one) => one !== row && middle(one) < y).length;
    if (to !== rows.indexOf(row)) move(dragged, to);
  });

  // On the window: a row that moves in the document loses the pointer that it has captured.
  useEffect(() => {
    if (dragged === null || !list.current) return;
    const box = scrolling(list.current);
    let y: number | null = null;
    let frame = 0;
    const onMove = (event: PointerEvent) => {
      ({ clientY: y } = event);
      follow(y);
    };
    const along = () => {
      const { top, bottom } = box.getBoundingClientRect();
      const by = y === null ? 0 : y < Math.max(top, 0) + EDGE ? -STEP : y > Math.min(bottom, innerHeight) - EDGE ? STEP : 0;
      if (by && y !== null) {
        box.scrollTop += by;
        follow(y);
      }
      frame = requestAnimationFrame(along);
    };
    const end = () => setDragged(null);
    along();
    window.addEventListener("pointermove", onMove);
    for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, end);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("pointermove", onMove);
      for (const kind of ["pointerup", "pointercancel"]) window.removeEventListener(kind, end);
    };
  }, [dragged, list]);

  const take = (key: number) => (event: ReactPointerEvent) => {
    if (event.button === 0) setDragged(key);
  };
  return { dragged, take };
}

function middle(row: HTMLElement): number {
  const { top, bottom } = row.getBoundingClientRect();
  return (top + bottom) / 2;
}

/** What scrolls with the list in it. */
function scrolling(list: Element): Element {
  for (let at = list.parentElement; at; at = at.parentElement) if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  return document.documentElement;
}
