import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";

/** Seconds since `since` (ISO time), updated each second; null if `since` is null. */
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

const NEAR_BOTTOM_PX = 80; // distance from the bottom that still counts as being there
const USER_ACTION_MS = 500; // growth within this time after an input is the user's own action, such as opening details
const USER_INPUTS = ["wheel", "touchstart", "pointerdown", "keydown", "compositionupdate"];
const NEW_SUBJECT_MS = 2_500; // how long a new subject may still be loading its parts

interface ScrollRefs {
  /** The scrolling element, its growing content, and the part to review. */
  scroller: RefObject<HTMLElement | null>;
  content: RefObject<HTMLElement | null>;
  review: RefObject<HTMLElement | null>;
}

interface ScrollCauses {
  /** What is to be reviewed. A new one is scrolled to its top if it is taller than the screen. */
  subject: string;
  /** How many commands were sent. Sending scrolls to the bottom. */
  sentCount: number;
  /** The newest reply. One to what was just sent is scrolled to, if what follows it is taller than the screen. */
  reply: string;
}

/** Keeps a growing conversation scrolled to the bottom while the user is there. */
export function useAutoScroll({ scroller, content, review }: ScrollRefs, { subject, sentCount, reply }: ScrollCauses) {
  const isFollowing = useRef(true);
  const touchedAt = useRef(-USER_ACTION_MS);
  const subjectShownAt = useRef(-NEW_SUBJECT_MS);
  const repliedAt = useRef(-NEW_SUBJECT_MS);
  const awaitsReply = useRef(false);
  const lastHeight = useRef(0);
  const scrollTopAtPress = useRef<number | null>(null); // the scroll position when the user pressed something
  const [isScrolledUp, setScrolledUp] = useState(false);

  const adjustScroll = useEffectEvent(() => {
    const outer = scroller.current;
    if (!outer) return;
    const shorter = outer.scrollHeight < lastHeight.current;
    lastHeight.current = outer.scrollHeight;
    if (performance.now() - touchedAt.current < USER_ACTION_MS) {
      // Between the removal of one part and the insertion of the next, the browser scrolls up: scroll back.
      if (shorter && scrollTopAtPress.current !== null) outer.scrollTop = scrollTopAtPress.current;
      return;
    }
    const isNew = (since: RefObject<number>) => performance.now() - since.current < NEW_SUBJECT_MS;
    const newest = isNew(repliedAt) ? [...outer.querySelectorAll<HTMLElement>("[data-testid=reply]")].at(-1) : isNew(subjectShownAt) ? review.current : null;
    if (newest && outer.scrollHeight - newest.offsetTop > outer.clientHeight) outer.scrollTop = newest.offsetTop - 8;
    else if (isFollowing.current) outer.scrollTop = outer.scrollHeight;
    else setScrolledUp(distanceFromBottom(outer) >= NEAR_BOTTOM_PX);
  });

  useLayoutEffect(() => {
    const outer = scroller.current;
    if (!outer || !content.current) return;
    const onScroll = () => {
      isFollowing.current = distanceFromBottom(outer) < NEAR_BOTTOM_PX;
      setScrolledUp(!isFollowing.current);
    };
    const onTouch = ({ type }: Event) => {
      touchedAt.current = performance.now();
      subjectShownAt.current = repliedAt.current = -NEW_SUBJECT_MS;
      scrollTopAtPress.current = type === "pointerdown" || type === "keydown" ? outer.scrollTop : null;
    };
    const observer = new ResizeObserver(() => adjustScroll());
    observer.observe(content.current);
    observer.observe(outer);
    outer.addEventListener("scroll", onScroll, { passive: true });
    for (const kind of USER_INPUTS) outer.addEventListener(kind, onTouch, { passive: true });
    return () => {
      observer.disconnect();
      outer.removeEventListener("scroll", onScroll);
      for (const kind of USER_INPUTS) outer.removeEventListener(kind, onTouch);
    };
  }, [scroller, content]);

  useEffect(() => {
    if (!subject || !isFollowing.current) return;
    subjectShownAt.current = performance.now();
    adjustScroll();
  }, [subject]);

  const scrollToBottom = () => {
    isFollowing.current = true;
    touchedAt.current = -USER_ACTION_MS;
    subjectShownAt.current = repliedAt.current = -NEW_SUBJECT_MS;
    adjustScroll();
  };
  const onSent = useEffectEvent(() => {
    awaitsReply.current = true;
    scrollToBottom();
  });
  useEffect(() => {
    if (sentCount > 0) onSent();
  }, [sentCount]);
  useEffect(() => {
    const isAwaited = awaitsReply.current;
    awaitsReply.current = false;
    if (!isAwaited) return; // also if a scroll event that came late seemed to leave the bottom
    repliedAt.current = performance.now();
    adjustScroll();
  }, [reply]);
  return { isScrolledUp, scrollToBottom };
}

function distanceFromBottom(outer: HTMLElement): number {
  return outer.scrollHeight - outer.scrollTop - outer.clientHeight;
}

const DOUBLE_PRESS_MS = 800; // milliseconds between two presses of Escape that count as one action

/** Calls `stop` on Ctrl+. or, while a service works, on Escape twice: in a review, Escape only closes panels. */
export function useStopKeys(enabled: boolean, isWorking: boolean, stop: () => void): void {
  const escapedAt = useRef(0);
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const isDouble = isWorking && event.key === "Escape" && event.timeStamp - escapedAt.current < DOUBLE_PRESS_MS;
    if (event.key === "Escape") escapedAt.current = event.timeStamp;
    if (!isDouble && !(event.key === "." && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    escapedAt.current = 0;
    stop();
  });
  useEffect(() => {
    if (!enabled) return;
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [enabled]);
}

const IS_MAC = typeof navigator !== "undefined" && /Mac|iP/.test(navigator.platform);

/** Calls `search` on Ctrl+K, or on Cmd+K on a Mac, where Ctrl+K deletes to the end of the line. Not behind a dialog. */
export function useSearchKey(search: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const pressed = event.key.toLowerCase() === "k" && (IS_MAC ? event.metaKey : event.ctrlKey) && !event.shiftKey && !event.altKey;
    if (!pressed || document.querySelector("[role=dialog]")) return;
    event.preventDefault();
    search();
  });
  useEffect(() => {
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** On unmount, returns focus to the element that had it on mount, if `enabled`. */
export function useRestoreFocus(enabled = true): void {
  const [previous] = useState(() => document.activeElement);
  const isEnabled = useRef(enabled);
  useEffect(() => {
    isEnabled.current = enabled;
  }, [enabled]);
  useEffect(
    () => () => {
      if (isEnabled.current && previous instanceof HTMLElement && previous.isConnected) previous.focus();
    },
    [previous],
  );
}
