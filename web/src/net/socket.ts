// One WebSocket that comes back by itself.
import type { ClientMessage, ServerMessage } from "../protocol";
import { backoff } from "./backoff";

/** Why there is no connection: nobody answers; the login is not valid; too many requests, or connections, of this person. */
export type Refusal = "offline" | "denied" | "busy";
export type Link = "connecting" | "online" | Refusal;

export interface SocketHandlers {
  onLink(link: Link): void;
  onMessage(message: ServerMessage): void;
  /** Asked after a failed handshake, which a browser does not explain. */
  refusal(): Promise<Refusal>;
}

const DENIED = 4401;
// A connection that lived so long (ms) was a good one: the next loss begins with a short wait again.
const STABLE = 5_000;

export class Socket {
  private socket: WebSocket | null = null;
  private attempt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(
    private readonly url: string,
    private readonly handlers: SocketHandlers,
  ) {
    window.addEventListener("online", this.now);
    this.connect();
  }

  /** True if it was handed to an open connection. */
  send(message: ClientMessage): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close(): void {
    this.ended = true;
    clearTimeout(this.timer);
    window.removeEventListener("online", this.now);
    this.socket?.close();
  }

  /** Try at once instead of at the next time. */
  readonly now = (): void => {
    if (this.ended || this.socket) return;
    clearTimeout(this.timer);
    this.connect();
  };

  private connect(): void {
    this.handlers.onLink("connecting");
    const socket = new WebSocket(this.url);
    this.socket = socket;
    let opened = 0;
    socket.onopen = () => {
      opened = Date.now();
      this.handlers.onLink("online");
    };
    socket.onmessage = (event) => this.handlers.onMessage(JSON.parse(String(event.data)) as ServerMessage);
    socket.onclose = (event) => {
      this.socket = null;
      if (this.ended) return;
      if (opened && Date.now() - opened > STABLE) this.attempt = 0;
      void this.lost(event.code === DENIED, opened > 0);
    };
  }

  private async lost(refused: boolean, opened: boolean): Promise<void> {
    const why = refused ? "denied" : opened ? "offline" : await this.handlers.refusal();
    if (this.ended) return;
    this.handlers.onLink(why);
    if (why === "denied") return;
    this.timer = setTimeout(() => this.connect(), backoff(this.attempt++, Math.random()));
  }
}
