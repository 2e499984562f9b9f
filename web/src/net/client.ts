// The client of one session: its state, its socket and its unsent commands. An external store for React.
import { fill, TROUBLE } from "../words";
import type { Command, ServerMessage } from "../protocol";
import { reduce, withoutNotice } from "../state/reduce";
import { emptyState, isBehind, isTransient, type SessionState } from "../state/state";
import { localZone } from "../templates/schedule";
import { acceptDraft, adoptDrafts, readDraft, restoreDraft, setDraftUser, takeDraft } from "../ui/drafts";
import { diagnoseConnection } from "./api";
import { backoff } from "./backoff";
import { commandBytes, formatKib, messageLimit } from "./frame";
import { ROOT } from "./root";
import { loadPending, newId, type PendingCommand, savePending, unsettled } from "./sendQueue";
import { type ConnectionStatus, ReconnectingSocket } from "./socket";

export interface SessionView {
  state: SessionState;
  connection: ConnectionStatus;
  pending: readonly PendingCommand[];
  /** How many commands were sent: a pending one may be recorded before anything is drawn. */
  sent: number;
}

// Milliseconds to wait for missing messages, which may still arrive, before requesting them; and before requesting them
// again.
const GAP_GRACE_MS = 400;
const RESUME_RETRY_MS = 3_000;
const NOTIFY_INTERVAL_MS = 16; // a long session arrives as thousands of messages: render once per batch
const POLL_INTERVAL_MS = 20_000; // an idle page checks regularly whether it missed anything

let clientCount = 0;

export class SessionClient {
  readonly key = ++clientCount;
  private view: SessionView;
  /** The view that was last announced: all components draw the same one. */
  private announced: SessionView;
  private readonly socket: ReconnectingSocket;
  private readonly listeners = new Set<() => void>();
  private gapTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly pollTimer: ReturnType<typeof setInterval>;
  private notifyTimer: ReturnType<typeof setTimeout> | undefined;
  private resumedAt = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private retryCount = 0;

  constructor(
    sessionId: string | null,
    /** Called with the session id once the first message of a new conversation is recorded. */
    private readonly onStarted: (sessionId: string) => void,
  ) {
    this.view = { state: emptyState(sessionId), connection: "connecting", pending: loadPending(sessionStorage), sent: 0 };
    this.announced = this.view;
    for (const { drafts = [] } of this.view.pending) drafts.forEach(takeDraft);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new ReconnectingSocket(`${scheme}://${location.host}${ROOT}ws?view=2`, {
      onStatus: (connection) => this.set({ connection }),
      onMessage: (message) => this.receive(message),
      diagnose: diagnoseConnection,
      onTooLarge: this.refuseLargest,
    });
    this.pollTimer = setInterval(() => {
      if (document.visibilityState === "visible") this.resume();
    }, POLL_INTERVAL_MS);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getView = (): SessionView => this.announced;

  /**
   * Sends a command, and keeps it until the gateway has recorded or refused it. Returns the message id. `draftKeys`
   * name what the user typed for it: it leaves its fields, and comes back if the command is refused.
   */
  readonly send = (command: Command, draftKeys: readonly string[] = []): string => {
    const sessionId = this.view.state.sessionId ?? this.view.state.greeting?.session_id ?? null;
    const said: Command = command.type === "user_message" ? { ...command, time_zone: localZone() } : command;
    const drafts = draftKeys.map((key) => ({ key, value: readDraft(key) })).filter(({ value }) => value !== null);
    const pending: PendingCommand = { id: newId(), sessionId, command: said, ...(drafts.length ? { drafts } : {}) };
    drafts.forEach(takeDraft);
    this.setPending([...this.view.pending, pending]);
    this.set({ sent: this.view.sent + 1 });
    this.deliver(pending);
    return pending.id;
  };

  readonly dismiss = (key: number): void => this.set({ state: withoutNotice(this.view.state, key) });

  readonly reconnect = (): void => this.socket.connectNow();

  close(): void {
    clearTimeout(this.gapTimer);
    clearTimeout(this.notifyTimer);
    clearTimeout(this.retryTimer);
    clearInterval(this.pollTimer);
    this.socket.send({ type: "close" });
    this.socket.close();
  }

  private receive(message: ServerMessage): void {
    this.adoptSession(message);
    const pending = unsettled(this.view.pending, message);
    const isRefusal = message.type === "error" && message.code !== "already_done";
    for (const { drafts = [] } of this.view.pending.filter((item) => !pending.includes(item))) drafts.forEach(isRefusal ? restoreDraft : acceptDraft);
    if (pending !== this.view.pending) this.setPending(pending);
    this.set({ state: reduce(this.view.state, message) });
    if (message.type === "greeting") this.onGreeting(message.user);
    if (isRefusal && message.code === "too_large" && message.reply_to === null) this.refuseLargest();
    if (message.type === "error" && message.code === "stale_version") this.resume();
    if (this.view.pending.length === 0 && (message.type === "event" || message.type === "snapshot")) this.retryCount = 0;
    if (isTransient(message)) this.retryTimer ??= setTimeout(this.retry, backoff(this.retryCount++, Math.random()));
    this.scheduleGapCheck();
  }

  /** Takes a new conversation's id from the first event for a message of this page, possibly sent before a reload. */
  private adoptSession(message: ServerMessage): void {
    const { state, pending } = this.view;
    const isAwaited = pending.some((item) => item.command.type === "user_message" && item.sessionId === message.session_id);
    if (state.sessionId !== null || !(isAwaited || state.greeting?.session_id === message.session_id)) return;
    if (message.type !== "event" && message.type !== "snapshot") return;
    if (message.type === "snapshot" && !message.version) return;
    this.set({ state: { ...emptyState(message.session_id), greeting: state.greeting, notices: state.notices, lastNoticeKey: state.lastNoticeKey } });
    adoptDrafts(message.session_id);
    this.onStarted(message.session_id);
  }

  /** Resumes the session on a new connection, then sends the pending commands. */
  private onGreeting(user: string): void {
    setDraftUser(user);
    this.resume();
    const { sessionId, greeting } = this.view.state;
    if (sessionId === null)
      this.setPending(this.view.pending.map((item) => ({ ...item, sessionId: item.sessionId ?? greeting?.session_id ?? null })));
    this.deliverAll();
  }

  /** Sends commands again that were refused for a transient reason, with the same ids. */
  private readonly retry = (): void => {
    this.retryTimer = undefined;
    this.resume();
    this.deliverAll();
  };

  private deliverAll(): void {
    const { sessionId } = this.view.state;
    for (const item of this.view.pending) if (sessionId === null ? item.command.type === "user_message" : item.sessionId === sessionId) this.deliver(item);
  }

  private resume(): void {
    const { sessionId, appliedVersion } = this.view.state;
    if (sessionId === null) return;
    this.resumedAt = Date.now();
    this.socket.send({ type: "resume", session_id: sessionId, after: appliedVersion });
  }

  private deliver(item: PendingCommand): void {
    const bytes = commandBytes(item.command);
    if (bytes > messageLimit(this.view.state.greeting)) this.refuse(item, fill(TROUBLE.too_large, { size: formatKib(bytes), most: formatKib(messageLimit(this.view.state.greeting)) }));
    else if (item.sessionId !== null) this.socket.send({ ...item.command, id: item.id, session_id: item.sessionId });
  }

  /** Refuses the largest pending command: something on the way takes less than the gateway, and would again. */
  private readonly refuseLargest = (): void => {
    const [largest] = this.view.pending.toSorted((a, b) => commandBytes(b.command) - commandBytes(a.command));
    if (largest) this.refuse(largest, fill(TROUBLE.too_large_here, { size: formatKib(commandBytes(largest.command)) }));
  };

  private refuse({ id, sessionId }: PendingCommand, text: string): void {
    this.receive({ type: "error", session_id: sessionId ?? "", code: "too_large", message: text, content: text, hint: TROUBLE.too_large_hint, reply_to: id, retry_after: null, version: null });
  }

  private scheduleGapCheck(): void {
    clearTimeout(this.gapTimer);
    const { state } = this.view;
    if (!isBehind(state)) {
      this.resumedAt = 0;
      return;
    }
    this.gapTimer = setTimeout(
      () => {
        this.resume();
        this.scheduleGapCheck();
      },
      Math.max(GAP_GRACE_MS, this.resumedAt + RESUME_RETRY_MS - Date.now()),
    );
  }

  private setPending(pending: readonly PendingCommand[]): void {
    savePending(sessionStorage, pending);
    this.set({ pending });
  }

  private set(change: Partial<SessionView>): void {
    this.view = { ...this.view, ...change };
    this.notifyTimer ??= setTimeout(() => {
      this.notifyTimer = undefined;
      this.announced = this.view;
      for (const listener of this.listeners) listener();
    }, NOTIFY_INTERVAL_MS);
  }
}
