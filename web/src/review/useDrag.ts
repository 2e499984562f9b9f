// Reorders the rows of a list by dragging, with a mouse, a pen or a finger.
import { type PointerEvent as ReactPointerEvent, type RefObject, useEffect, useEffectEvent, useState } from "react";

const SCROLL_EDGE_PX = 56; // distance from the scroller's edge at which it starts to scroll
const SCROLL_STEP_PX = 8; // per frame

/** Calls `move` with the row's key and its new index whenever the dragged row changes place. */
export function useDrag(list: RefObject<HTMLElement | null>, move: (key: number, to: number) => void) {
  const [dragged, setDragged] = useState<number | null>(null);

  const follow = useEffectEvent((y: number) => {
    const rows = [...(list.current?.children ?? [])] as HTMLElement[];
    const row = rows.find((element) => element.dataset.key === String(dragged));
    if (!row || dragged === null) return;
    const to = rows.filter((element) => element !== row && middleOf(element) < y).length;
    if (to !== rows.indexOf(row)) move(dragged, to);
  });

  // Listen on the window: a row that moves in the document loses its captured pointer.
  useEffect(() => {
    if (dragged === null || !list.current) return;
    const scroller = scrollParent(list.current);
    let y: number | null = null;
    let frame = 0;
    const onMove = (event: PointerEvent) => {
      ({ clientY: y } = event);
      follow(y);
    };
    const autoScroll = () => {
      const { top, bottom } = scroller.getBoundingClientRect();
      const by = y === null ? 0 : y < Math.max(top, 0) + SCROLL_EDGE_PX ? -SCROLL_STEP_PX : y > Math.min(bottom, innerHeight) - SCROLL_EDGE_PX ? SCROLL_STEP_PX : 0;
      if (by && y !== null) {
        scroller.scrollTop += by;
        follow(y);
      }
      frame = requestAnimationFrame(autoScroll);
    };
    const end = () => setDragged(null);
    autoScroll();
    window.addEventListener("pointermove", onMove);
    for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, end);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("pointermove", onMove);
      for (const kind of ["pointerup", "pointercancel"]) window.removeEventListener(kind, end);
    };
  }, [dragged, list]);

  const startDrag = (key: number) => (event: ReactPointerEvent) => {
    if (event.button === 0) setDragged(key);
  };
  return { dragged, startDrag };
}

function middleOf(row: HTMLElement): number {
  const { top, bottom } = row.getBoundingClientRect();
  return (top + bottom) / 2;
}

/** The element that scrolls the list. */
function scrollParent(list: Element): Element {
  for (let ancestor = list.parentElement; ancestor; ancestor = ancestor.parentElement) if (ancestor.scrollHeight > ancestor.clientHeight && /auto|scroll/.test(getComputedStyle(ancestor).overflowY)) return ancestor;
  return document.documentElement;
}
