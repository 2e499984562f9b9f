// A WebSocket that reconnects by itself.
import type { ClientMessage, ServerMessage } from "../protocol";
import { backoff } from "./backoff";
import { parseJson } from "./json";

/** "offline": no answer; "denied": not logged in; "busy": too many requests or connections of this user. */
export type ConnectionFailure = "offline" | "denied" | "busy";
export type ConnectionStatus = "connecting" | "online" | ConnectionFailure;

interface SocketHandlers {
  onStatus(status: ConnectionStatus): void;
  onMessage(message: ServerMessage): void;
  /** Called after a failed handshake, because the browser does not say why it failed. */
  diagnose(): Promise<ConnectionFailure>;
  /** Called when the other side closed the connection because of a message that is too large for it. */
  onTooLarge(): void;
}

const CLOSE_UNAUTHENTICATED = 4401;
const CLOSE_TOO_LARGE = 1009;
// A connection that lasted this long resets the backoff.
const STABLE_MS = 5_000;

export class ReconnectingSocket {
  private socket: WebSocket | null = null;
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(
    private readonly url: string,
    private readonly handlers: SocketHandlers,
  ) {
    window.addEventListener("online", this.connectNow);
    this.connect();
  }

  /** Returns true if the message was passed to an open connection. */
  send(message: ClientMessage): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    window.removeEventListener("online", this.connectNow);
    const socket = this.socket;
    // A browser reports a connection that is closed before it is open as an error.
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket?.close();
  }

  /** Connects immediately instead of waiting for the next attempt. */
  readonly connectNow = (): void => {
    if (this.closed || this.socket) return;
    clearTimeout(this.timer);
    this.connect();
  };

  private connect(): void {
    this.handlers.onStatus("connecting");
    const socket = new WebSocket(this.url);
    this.socket = socket;
    let openedAt = 0;
    socket.onopen = () => {
      openedAt = Date.now();
      this.handlers.onStatus("online");
    };
    socket.onmessage = (event) => this.handlers.onMessage(parseJson(String(event.data)) as ServerMessage);
    socket.onclose = (event) => {
      this.socket = null;
      if (this.closed) return;
      if (event.code === CLOSE_TOO_LARGE) this.handlers.onTooLarge();
      if (openedAt && Date.now() - openedAt > STABLE_MS) this.attempt = 0;
      void this.onLost(event.code === CLOSE_UNAUTHENTICATED, openedAt > 0);
    };
  }

  private async onLost(isDenied: boolean, wasOpen: boolean): Promise<void> {
    const status = isDenied ? "denied" : wasOpen ? "offline" : await this.handlers.diagnose();
    if (this.closed) return;
    this.handlers.onStatus(status);
    if (status === "denied") return;
    this.timer = setTimeout(() => this.connect(), backoff(this.attempt++, Math.random()));
  }
}
