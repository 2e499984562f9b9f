// The names the page uses for the generated types.
import type { Protocol } from "./generated/protocol";

export type * from "./generated/protocol";
export type ClientMessage = Protocol["client"];
export type ServerMessage = Protocol["server"];
export type ServerMessageOf<T extends ServerMessage["type"]> = Extract<ServerMessage, { type: T }>;
export type SessionEvent = ServerMessageOf<"event">["event"];
export type EventType = SessionEvent["type"];
export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;

// What the page asks for; the id and the session are added where it is sent.
type Bare<T> = T extends unknown ? Omit<T, "id" | "session_id"> : never;
export type Command = Bare<Exclude<ClientMessage, { type: "resume" | "close" }>>;
export type CommandType = Command["type"];
