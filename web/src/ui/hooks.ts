import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";

/** Seconds since `since` (ISO time), counting; null while there is none. */
export function useElapsed(since: string | null): number | null {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!since) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [since]);
  return since ? Math.max(0, Math.round((now - Date.parse(since)) / 1000)) : null;
}

const NEAR = 80; // pixels from the bottom that still count as being there

/** Keeps a scrolled box at its bottom while it grows, unless the person has scrolled up. */
export function useStickToBottom(box: RefObject<HTMLElement | null>, content: RefObject<HTMLElement | null>) {
  const stuck = useRef(true);
  const [away, setAway] = useState(false);
  useLayoutEffect(() => {
    const outer = box.current;
    const inner = content.current;
    if (!outer || !inner) return;
    const bottom = () => outer.scrollHeight - outer.scrollTop - outer.clientHeight;
    const onScroll = () => {
      stuck.current = bottom() < NEAR;
      setAway(!stuck.current);
    };
    const onGrow = () => {
      if (stuck.current) outer.scrollTop = outer.scrollHeight;
      else setAway(bottom() >= NEAR);
    };
    const observer = new ResizeObserver(onGrow);
    observer.observe(inner);
    observer.observe(outer);
    outer.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      outer.removeEventListener("scroll", onScroll);
    };
  }, [box, content]);
  const toBottom = () => {
    stuck.current = true;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  return { away, toBottom, stuck };
}

const TWICE = 800; // milliseconds between two presses of Escape that mean one thing

/** Ctrl+. or Escape twice. */
export function useStopKeys(enabled: boolean, stop: () => void): void {
  const escaped = useRef(0);
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const twice = event.key === "Escape" && event.timeStamp - escaped.current < TWICE;
    if (event.key === "Escape") escaped.current = event.timeStamp;
    if (!twice && !(event.key === "." && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    escaped.current = 0;
    stop();
  });
  useEffect(() => {
    if (!enabled) return;
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [enabled]);
}
