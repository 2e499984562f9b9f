// Short names for the generated protocol types.
import type { Protocol, ScreenView } from "./generated/protocol";

export type * from "./generated/protocol";
export type ClientMessage = Protocol["client"];
export type ServerMessage = Protocol["screen"];
export type ServerMessageOf<T extends ServerMessage["type"]> = Extract<ServerMessage, { type: T }>;
/** A journal entry that an event adds, or an update to an earlier entry. */
export type EntryOrUpdate = ServerMessageOf<"event">["entries"][number];
export type JournalEntry = Exclude<EntryOrUpdate, { kind: "update" }>;
export type EntryOf<K extends JournalEntry["kind"]> = Extract<JournalEntry, { kind: K }>;
/** The state of a session, with the commands that it accepts now. */
export type Snapshot = ScreenView & { session_id: string; version: number; can: readonly string[] };

// A command without the message id and session id: the client adds them when it sends.
type Bare<T> = T extends unknown ? Omit<T, "id" | "session_id"> : never;
export type Command = Bare<Exclude<ClientMessage, { type: "resume" | "close" }>>;
export type CommandType = Command["type"];
