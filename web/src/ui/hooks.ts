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
const OWN = 500; // milliseconds after a touch or key in which growth is the person's own doing, such as opening details
const HOLD = 2_500; // milliseconds in which a new subject may still be loading its parts

interface Boxes {
  /** What scrolls, what grows in it, and the part that holds what is to be reviewed. */
  box: RefObject<HTMLElement | null>;
  content: RefObject<HTMLElement | null>;
  review: RefObject<HTMLElement | null>;
}

/**
 * Follows a growing conversation at its bottom, for as long as the person stays there. What is new to review (`subject`)
 * is shown from its beginning where it is higher than the screen; what the person sends (`sent` counts up) is followed.
 */
export function useFollow({ box, content, review }: Boxes, subject: string, sent: number) {
  const follows = useRef(true);
  const touched = useRef(-OWN);
  const held = useRef(-HOLD);
  const height = useRef(0);
  const pressedAt = useRef<number | null>(null); // where the box was scrolled to when the person pressed something
  const [away, setAway] = useState(false);

  const settle = useEffectEvent(() => {
    const outer = box.current;
    const part = review.current;
    if (!outer) return;
    const shorter = outer.scrollHeight < height.current;
    height.current = outer.scrollHeight;
    if (performance.now() - touched.current < OWN) {
      // While one part takes another's place there is neither, and the browser scrolls up for it.
      if (shorter && pressedAt.current !== null) outer.scrollTop = pressedAt.current;
      return;
    }
    const fresh = performance.now() - held.current < HOLD;
    if (fresh && part && part.offsetHeight > outer.clientHeight) outer.scrollTop = part.offsetTop - 8;
    else if (follows.current) outer.scrollTop = outer.scrollHeight;
    else setAway(below(outer) >= NEAR);
  });

  useLayoutEffect(() => {
    const outer = box.current;
    if (!outer || !content.current) return;
    const onScroll = () => {
      follows.current = below(outer) < NEAR;
      setAway(!follows.current);
    };
    const onTouch = ({ type }: Event) => {
      touched.current = performance.now();
      held.current = -HOLD;
      pressedAt.current = type === "pointerdown" || type === "keydown" ? outer.scrollTop : null;
    };
    const observer = new ResizeObserver(() => settle());
    observer.observe(content.current);
    observer.observe(outer);
    outer.addEventListener("scroll", onScroll, { passive: true });
    for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) outer.addEventListener(kind, onTouch, { passive: true });
    return () => {
      observer.disconnect();
      outer.removeEventListener("scroll", onScroll);
      for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) outer.removeEventListener(kind, onTouch);
    };
  }, [box, content]);

  useEffect(() => {
    if (!subject || !follows.current) return;
    held.current = performance.now();
    settle();
  }, [subject]);

  const toBottom = () => {
    follows.current = true;
    touched.current = -OWN;
    held.current = -HOLD;
    settle();
  };
  const bottom = useEffectEvent(toBottom);
  useEffect(() => {
    if (sent > 0) bottom();
  }, [sent]);
  return { away, toBottom };
}

function below(outer: HTMLElement): number {
  return outer.scrollHeight - outer.scrollTop - outer.clientHeight;
}

const TWICE = 800; // milliseconds between two presses of Escape that mean one thing

/** Ctrl+. or, while something `works`, Escape twice: at a review Escape closes things, and must not end the session. */
export function useStopKeys(enabled: boolean, works: boolean, stop: () => void): void {
  const escaped = useRef(0);
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const twice = works && event.key === "Escape" && event.timeStamp - escaped.current < TWICE;
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

const MAC = typeof navigator !== "undefined" && /Mac|iP/.test(navigator.platform);

/** Ctrl+K, or Cmd+K on a Mac, where Ctrl+K takes out the rest of a line. Not behind a dialog. */
export function useSearchKey(search: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const pressed = event.key.toLowerCase() === "k" && (MAC ? event.metaKey : event.ctrlKey) && !event.shiftKey && !event.altKey;
    if (!pressed || document.querySelector("[role=dialog]")) return;
    event.preventDefault();
    search();
  });
  useEffect(() => {
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** Gives the focus back to what had it when this component came, once the component goes, unless it is no longer `wanted`. */
export function useFocusBack(wanted = true): void {
  const [before] = useState(() => document.activeElement);
  const still = useRef(wanted);
  useEffect(() => {
    still.current = wanted;
  }, [wanted]);
  useEffect(
    () => () => {
      if (still.current && before instanceof HTMLElement && before.isConnected) before.focus();
    },
    [before],
  );
}
