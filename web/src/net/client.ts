// One session on the screen: its state, its socket and what is still to be sent. React reads it as an external store.
import type { Command, ServerMessage } from "../protocol";
import { dismissed, reduce } from "../state/reduce";
import { behind, emptyState, passes, type SessionState } from "../state/state";
import { refusal } from "./api";
import { backoff } from "./backoff";
import { load, newId, type Pending, save, settled } from "./outbox";
import { type Link, Socket } from "./socket";

export interface View {
  state: SessionState;
  link: Link;
  pending: readonly Pending[];
}

// Milliseconds without a message after which what is missing is asked for, since it may still be on its way; and not
// again at once.
const MISSING = 400;
const ASK_AGAIN = 3_000;
const FRAME = 16; // a long session comes as thousands of messages: the page is drawn once for all that came together
const LOOK = 20_000; // a quiet page asks now and then whether it missed anything

let made = 0;

export class SessionClient {
  readonly number = ++made;
  private view: View;
  private readonly socket: Socket;
  private readonly listeners = new Set<() => void>();
  private check: ReturnType<typeof setTimeout> | undefined;
  private readonly look: ReturnType<typeof setInterval>;
  private telling: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;
  private again: ReturnType<typeof setTimeout> | undefined;
  private tries = 0;

  constructor(
    sessionId: string | null,
    /** The first message of a new conversation was recorded under this id. */
    private readonly onBegun: (sessionId: string) => void,
  ) {
    this.view = { state: emptyState(sessionId), link: "connecting", pending: load(sessionStorage) };
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new Socket(`${scheme}://${location.host}/ws?view=2`, {
      onLink: (link) => this.set({ link }),
      onMessage: (message) => this.receive(message),
      refusal,
    });
    this.look = setInterval(() => {
      if (document.visibilityState === "visible") this.resume();
    }, LOOK);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getView = (): View => this.view;

  /** Ask for something; it is kept until the gateway has recorded or refused it. Returns the message's id. */
  readonly send = (command: Command): string => {
    const sessionId = this.view.state.sessionId ?? this.view.state.greeting?.session_id ?? null;
    const pending: Pending = { id: newId(), sessionId, command };
    this.setPending([...this.view.pending, pending]);
    this.deliver(pending);
    return pending.id;
  };

  readonly dismiss = (key: number): void => this.set({ state: dismissed(this.view.state, key) });

  readonly reconnect = (): void => this.socket.now();

  close(): void {
    clearTimeout(this.check);
    clearTimeout(this.telling);
    clearTimeout(this.again);
    clearInterval(this.look);
    this.socket.send({ type: "close" });
    this.socket.close();
  }

  private receive(message: ServerMessage): void {
    this.begin(message);
    const pending = settled(this.view.pending, message);
    if (pending !== this.view.pending) this.setPending(pending);
    this.set({ state: reduce(this.view.state, message) });
    if (message.type === "greeting") this.greeted();
    if (message.type === "error" && message.code === "stale_version") this.resume();
    if (this.view.pending.length === 0 && (message.type === "event" || message.type === "snapshot")) this.tries = 0;
    if (passes(message)) this.again ??= setTimeout(this.repeat, backoff(this.tries++, Math.random()));
    this.lookForHoles();
  }

  /** A new conversation takes its name from the first event that answers what was sent here, maybe before a reload. */
  private begin(message: ServerMessage): void {
    const { state, pending } = this.view;
    const awaited = pending.some((one) => one.command.type === "user_message" && one.sessionId === message.session_id);
    if (state.sessionId !== null || !(awaited || state.greeting?.session_id === message.session_id)) return;
    if (message.type !== "event" && message.type !== "snapshot") return;
    if (message.type === "snapshot" && !message.version) return;
    this.set({ state: { ...emptyState(message.session_id), greeting: state.greeting, notices: state.notices, noticed: state.noticed } });
    this.onBegun(message.session_id);
  }

  /** A new connection: put it on the session, then send what is still waiting. */
  private greeted(): void {
    this.resume();
    const { sessionId, greeting } = this.view.state;
    if (sessionId === null)
      this.setPending(this.view.pending.map((one) => ({ ...one, sessionId: one.sessionId ?? greeting?.session_id ?? null })));
    this.deliverAll();
  }

  /** What was refused for a reason that may have passed by now: the same once more, ids and all. */
  private readonly repeat = (): void => {
    this.again = undefined;
    this.resume();
    this.deliverAll();
  };

  private deliverAll(): void {
    const { sessionId } = this.view.state;
    for (const one of this.view.pending) if (sessionId === null ? one.command.type === "user_message" : one.sessionId === sessionId) this.deliver(one);
  }

  private resume(): void {
    const { sessionId, last } = this.view.state;
    if (sessionId === null) return;
    this.asked = Date.now();
    this.socket.send({ type: "resume", session_id: sessionId, after: last });
  }

  private deliver(one: Pending): void {
    if (one.sessionId !== null) this.socket.send({ ...one.command, id: one.id, session_id: one.sessionId });
  }

  private lookForHoles(): void {
    clearTimeout(this.check);
    const { state } = this.view;
    if (!behind(state)) {
      this.asked = 0;
      return;
    }
    this.check = setTimeout(
      () => {
        this.resume();
        this.lookForHoles();
      },
      Math.max(MISSING, this.asked + ASK_AGAIN - Date.now()),
    );
  }

  private setPending(pending: readonly Pending[]): void {
    save(sessionStorage, pending);
    this.set({ pending });
  }

  private set(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    this.telling ??= setTimeout(() => {
      this.telling = undefined;
      for (const listener of this.listeners) listener();
    }, FRAME);
  }
}
