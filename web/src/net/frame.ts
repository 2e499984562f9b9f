// How large a message to the gateway is.
import type { Command } from "../protocol";

const DEFAULT_LIMIT = 256 * 1024; // of gateways that do not tell theirs

const encoder = new TextEncoder();

/** Bytes of the value as JSON. */
export const jsonBytes = (value: unknown): number => encoder.encode(JSON.stringify(value)).length;

const ENVELOPE_BYTES = 256; // of the ids that the client adds to a command

/** The bytes of the message that would carry the command. */
export const commandBytes = (command: Command): number => jsonBytes(command) + ENVELOPE_BYTES;

/** The most bytes that one message may have. */
export const messageLimit = (greeting: { max_message_bytes?: number } | null): number => greeting?.max_message_bytes ?? DEFAULT_LIMIT;

export const formatKib = (bytes: number): string => `${Math.ceil(bytes / 1024).toLocaleString("en")} KiB`;
