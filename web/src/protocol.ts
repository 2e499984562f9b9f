// The names the page uses for the generated types.
import type { Protocol, ScreenView } from "./generated/protocol";

export type * from "./generated/protocol";
export type ClientMessage = Protocol["client"];
export type ServerMessage = Protocol["screen"];
export type ServerMessageOf<T extends ServerMessage["type"]> = Extract<ServerMessage, { type: T }>;
export type SessionEvent = ServerMessageOf<"event">["event"];
export type EventType = SessionEvent["type"];
export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;
/** What an event adds to the journal, and what a later one changes of it. */
export type EntryOrUpdate = ServerMessageOf<"event">["entries"][number];
export type JournalEntry = Exclude<EntryOrUpdate, { kind: "update" }>;
export type EntryOf<K extends JournalEntry["kind"]> = Extract<JournalEntry, { kind: K }>;
/** Where a session stands, with what is accepted now. */
export type Snapshot = ScreenView & { session_id: string; version: number; can: readonly string[] };

// What the page asks for; the id and the session are added where it is sent.
type Bare<T> = T extends unknown ? Omit<T, "id" | "session_id"> : never;
export type Command = Bare<Exclude<ClientMessage, { type: "resume" | "close" }>>;
export type CommandType = Command["type"];
