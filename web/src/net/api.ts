// The few things the page asks over plain HTTP.
import { fill, TROUBLE } from "../generated/words";
import type { SentSchedule } from "../templates/schedule";
import type { Refusal } from "./socket";
import type {
  CandidatePage,
  FlowList,
  LibraryPage,
  PathCheck,
  PlanPreviews,
  Preview,
  ProposalPage,
  TemplatePage,
  TemplateView,
  ToolPage,
} from "../protocol";

export interface Me {
  user: string;
  auth: string;
  rehearsal: boolean;
}

export interface SessionSummary {
  session_id: string;
  title: string;
  state: string;
  phase: string;
  paused: boolean;
  rest_reason: string;
  /** Its plan of steps has not come to its end, and waits for a person to go on. */
  unfinished: boolean;
  workflow: string;
  owner: string;
  created_at: string;
  updated_at: string;
  version: number;
}

export class Denied extends Error {}
export class Busy extends Error {}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return asked<T>(path, { headers: { Accept: "application/json" }, signal });
}

async function asked<T>(path: string, request: RequestInit): Promise<T> {
  return (await (await answered(path, request)).json()) as T;
}

const sent = <T>(method: string, path: string, body: object, signal?: AbortSignal): Promise<T> =>
  asked<T>(path, { method, headers: { Accept: "application/json", "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

const posted = <T>(path: string, body: object, signal?: AbortSignal): Promise<T> => sent("POST", path, body, signal);
const put = <T>(path: string, body: object): Promise<T> => sent("PUT", path, body);

async function answered(path: string, request: RequestInit): Promise<Response> {
  const response = await fetch(path, request);
  if (response.status === 401 || response.status === 403) throw new Denied();
  if (response.status === 429) throw new Busy(await reasonOf(response));
  if (!response.ok) throw new Error(await reasonOf(response));
  return response;
}

/** What the gateway says about a refusal, else only that there was one. */
async function reasonOf(response: Response): Promise<string> {
  try {
    const { message, hint } = (await response.json()) as { message?: string; hint?: string };
    if (message) return hint ? `${message} ${hint}` : message;
  } catch {
    // no JSON: the number has to do
  }
  return fill(TROUBLE.status, { status: response.status });
}

/** End this browser's login, in all its tabs. */
export const logout = async (): Promise<void> => void (await answered("/api/logout", { method: "POST" }));

export const me = (): Promise<Me> => get<Me>("/api/me");

/** A summary as the gateway sends it: plan_store's row, whose key is `id`. */
type Row = Omit<SessionSummary, "session_id"> & { id?: string; session_id?: string };

type Page = { sessions: SessionSummary[]; total: number };

async function page(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<Page> {
  const found = await get<{ sessions: Row[]; total: number }>(`${path}?${new URLSearchParams(query)}`, signal);
  return { total: found.total, sessions: found.sessions.map((row) => ({ ...row, session_id: row.session_id ?? row.id ?? "" })) };
}

export const sessions = (q: string, limit: number, signal?: AbortSignal): Promise<Page> => page("/api/sessions", { q, limit: String(limit), offset: "0" }, signal);

/** The sessions that wait for a person. */
export const inbox = (limit: number, signal?: AbortSignal): Promise<Page> => page("/api/inbox", { limit: String(limit) }, signal);

/** Go on with a session's plan that was stopped, paused, or failed. */
export const goOn = async (sessionId: string): Promise<void> => void (await posted(`/api/execution-plans/${sessionId}/execute`, { timeout: 0 }));

/** What the changes of the session's plan would do now, by step. */
export const previewPlan = (sessionId: string, signal?: AbortSignal): Promise<PlanPreviews> => get(`/api/execution-plans/${encodeURIComponent(sessionId)}/previews`, signal);

export const tools = (q: string, limit: number, signal?: AbortSignal): Promise<ToolPage> =>
  get<ToolPage>(`/api/tools?${new URLSearchParams({ q, limit: String(limit) })}`, signal);

/** The flows there are, and why others could not be loaded. */
export const flows = (): Promise<FlowList> => get("/api/planning/flows");

export const library = (q: string, saved: boolean, signal?: AbortSignal): Promise<LibraryPage> =>
  get(`/api/library?${new URLSearchParams({ q, ...(saved ? { saved: "true" } : {}), limit: "50" })}`, signal);

/** What a template is made of: a session's plan, or what the session did. */
export type TemplateSource = "plan" | "session";

const sourceUrl = (source: TemplateSource): string => `/api/templates/from-${source}`;
const sourceId = (source: TemplateSource, sessionId: string): Record<string, string> => (source === "plan" ? { task_id: sessionId } : { session_id: sessionId });

/** The values that can become parameters. */
export const candidates = (source: TemplateSource, sessionId: string, signal?: AbortSignal): Promise<CandidatePage> =>
  get(`${sourceUrl(source)}?${new URLSearchParams(sourceId(source, sessionId))}`, signal);

export const saveTemplate = (source: TemplateSource, sessionId: string, name: string, parameters: readonly { name: string; value: unknown }[]): Promise<TemplateView> =>
  posted(sourceUrl(source), { ...sourceId(source, sessionId), name, parameters });

export const importTemplate = (document: string, format: "json" | "yaml"): Promise<TemplateView> => posted("/api/templates", { document, format });

export const templateFile = (id: string): string => `${templateUrl(id)}?format=yaml`;

/** Run it as the schedule says, or by hand only. */
export const scheduleTemplate = (id: string, version: number, schedule: SentSchedule | null): Promise<TemplateView> => put(`${templateUrl(id)}/schedule`, { version, schedule });

export const templates = (signal?: AbortSignal): Promise<TemplatePage> => get("/api/templates?limit=200", signal);

export const template = (id: string, signal?: AbortSignal): Promise<TemplateView> => get(templateUrl(id), signal);

export const deleteTemplate = async (id: string): Promise<void> => void (await answered(templateUrl(id), { method: "DELETE" }));

/** A session with the template's plan, for the person to approve; its id. */
export const beginWith = async (id: string, values: Record<string, unknown>, settings: object): Promise<string> =>
  (await posted<{ session_id: string }>(`${templateUrl(id)}/use`, { values, settings, timeout: 20 })).session_id;

const templateUrl = (id: string): string => `/api/templates/${encodeURIComponent(id)}`;

export const proposals = (signal?: AbortSignal): Promise<ProposalPage> => get("/api/planning/proposals?limit=50", signal);

/** All that an action returned, where the journal holds only its beginning. */
export const wholeResult = (sessionId: string, turn: number, actionId: string): Promise<unknown> => get(artefactUrl(sessionId, turn, actionId));

const inSession = (sessionId: string): string => `/api/sessions/${encodeURIComponent(sessionId)}`;

/** What an action that waits would change. */
export const previewAction = (sessionId: string, actionId: string, signal?: AbortSignal): Promise<Preview> =>
  get<Preview>(`${inSession(sessionId)}/actions/${encodeURIComponent(actionId)}/preview`, signal);

/** What a call would change that a person thinks of making. */
export const previewCall = (sessionId: string, tool: string, args: Record<string, unknown>): Promise<Preview> =>
  posted<Preview>(`${inSession(sessionId)}/preview`, { tool, arguments: args });

/** What is wrong with a path that is being changed. */
export const checkPath = (sessionId: string, nodes: readonly string[], given: Record<string, string>, signal?: AbortSignal): Promise<PathCheck> =>
  posted<PathCheck>(`${inSession(sessionId)}/path/check`, { nodes, given }, signal);

export const artefactUrl = (sessionId: string, turn: number, actionId: string): string => `${inSession(sessionId)}/artefacts/${turn}/${encodeURIComponent(actionId)}`;

export function exportUrl(sessionId: string, format: "md" | "json" | "py"): string {
  return `${inSession(sessionId)}/export?format=${format}`;
}

/** Only a clear refusal counts: a gateway that is down is no matter of login. */
export async function refusal(): Promise<Refusal> {
  try {
    await me();
    return "busy"; // it answers, and takes no further connection
  } catch (error) {
    if (error instanceof Denied) return "denied";
    return error instanceof Busy ? "busy" : "offline";
  }
}
