// The page's HTTP requests to the gateway.
import { fill, PAGE, TROUBLE } from "../words";
import type { ScheduleRequest } from "../templates/schedule";
import { parseJson } from "./json";
import { ROOT } from "./root";
import type { ConnectionFailure } from "./socket";
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

export interface Account {
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
  /** Whether the session has an unfinished plan that waits for the user to resume it. */
  unfinished: boolean;
  workflow: string;
  owner: string;
  created_at: string;
  updated_at: string;
  version: number;
}

const API = `${ROOT}api`;

class AuthError extends Error {}
class RateLimitError extends Error {}

async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return fetchJson<T>(path, { headers: { Accept: "application/json" }, signal });
}

async function fetchJson<T>(path: string, request: RequestInit): Promise<T> {
  return parseJson(await (await fetchOk(path, request)).text()) as T;
}

const sendJson = <T>(method: string, path: string, body: object, signal?: AbortSignal): Promise<T> =>
  fetchJson<T>(path, { method, headers: { Accept: "application/json", "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

const postJson = <T>(path: string, body: object, signal?: AbortSignal): Promise<T> => sendJson("POST", path, body, signal);
const putJson = <T>(path: string, body: object): Promise<T> => sendJson("PUT", path, body);

async function fetchOk(path: string, request: RequestInit): Promise<Response> {
  const response = await fetch(path, request);
  if (response.status === 401 || response.status === 403) throw new AuthError();
  if (response.status === 429) throw new RateLimitError(await responseError(response));
  if (!response.ok) throw new Error(await responseError(response));
  return response;
}

/** The gateway's reason for a refusal, or else the status. */
async function responseError(response: Response): Promise<string> {
  try {
    const { message, hint } = (await response.json()) as { message?: string; hint?: string };
    if (message) return hint ? `${message} ${hint}` : message;
  } catch {
    // not JSON: fall back to the status
  }
  return fill(TROUBLE.status, { status: response.status });
}

/** Logs this browser in with a key or token. Returns why that failed; "" if it did not. */
export async function login(token: string): Promise<string> {
  const response = await fetch(`${ROOT}login`, { method: "POST", redirect: "manual", body: new URLSearchParams({ token }) });
  if (response.type === "opaqueredirect") return ""; // to the page
  if (response.status === 429) return fill(PAGE.login_wait, { seconds: response.headers.get("Retry-After") ?? "60" });
  return response.status === 401 ? PAGE.login_wrong : fill(TROUBLE.status, { status: response.status });
}

/** Logs the user out in all tabs of this browser. */
export const logout = async (): Promise<void> => void (await fetchOk(`${API}/logout`, { method: "POST" }));

export const fetchAccount = (): Promise<Account> => getJson<Account>(`${API}/me`);

/** A summary as the gateway sends it: a plan_store row, whose key is `id`. */
type SessionRow = Omit<SessionSummary, "session_id"> & { id?: string; session_id?: string };

type SessionPage = { sessions: SessionSummary[]; total: number };

async function fetchSessionPage(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<SessionPage> {
  const page = await getJson<{ sessions: SessionRow[]; total: number }>(`${path}?${new URLSearchParams(query)}`, signal);
  return { total: page.total, sessions: page.sessions.map((row) => ({ ...row, session_id: row.session_id ?? row.id ?? "" })) };
}

export const fetchSessions = (q: string, limit: number, signal?: AbortSignal): Promise<SessionPage> => fetchSessionPage(`${API}/sessions`, { q, limit: String(limit), offset: "0" }, signal);

/** The sessions that wait for the user. */
export const fetchInbox = (limit: number, signal?: AbortSignal): Promise<SessionPage> => fetchSessionPage(`${API}/inbox`, { limit: String(limit) }, signal);

/** Resumes a session's plan that was stopped, paused, or failed. */
export const resumePlan = async (sessionId: string): Promise<void> => void (await postJson(`${API}/execution-plans/${sessionId}/execute`, { retry: true, timeout: 0 }));

/** What the plan's changes would do now, by step. */
export const fetchPlanPreviews = (sessionId: string, signal?: AbortSignal): Promise<PlanPreviews> => getJson(`${API}/execution-plans/${encodeURIComponent(sessionId)}/previews`, signal);

export const fetchTools = (q: string, limit: number, signal?: AbortSignal): Promise<ToolPage> =>
  getJson<ToolPage>(`${API}/tools?${new URLSearchParams({ q, limit: String(limit) })}`, signal);

/** The available flows, and why others could not be loaded. */
export const fetchFlows = (): Promise<FlowList> => getJson(`${API}/planning/flows`);

export const fetchLibrary = (q: string, saved: boolean, signal?: AbortSignal): Promise<LibraryPage> =>
  getJson(`${API}/library?${new URLSearchParams({ q, ...(saved ? { saved: "true" } : {}), limit: "50" })}`, signal);

/** The source of a template: a session's plan, or the session's actions. */
export type TemplateSource = "plan" | "session";

const sourceUrl = (source: TemplateSource): string => `${API}/templates/from-${source}`;
const sourceId = (source: TemplateSource, sessionId: string): Record<string, string> => (source === "plan" ? { task_id: sessionId } : { session_id: sessionId });

/** The values that can become parameters. */
export const fetchCandidates = (source: TemplateSource, sessionId: string, signal?: AbortSignal): Promise<CandidatePage> =>
  getJson(`${sourceUrl(source)}?${new URLSearchParams(sourceId(source, sessionId))}`, signal);

export const saveTemplate = (source: TemplateSource, sessionId: string, name: string, parameters: readonly { name: string; value: unknown }[]): Promise<TemplateView> =>
  postJson(sourceUrl(source), { ...sourceId(source, sessionId), name, parameters });

export const importTemplate = (document: string, format: "json" | "yaml"): Promise<TemplateView> => postJson(`${API}/templates`, { document, format });

export const templateFileUrl = (id: string): string => `${templateUrl(id)}?format=yaml`;

/** Sets the template's schedule; null means it runs by hand only. */
export const scheduleTemplate = (id: string, version: number, schedule: ScheduleRequest | null): Promise<TemplateView> => putJson(`${templateUrl(id)}/schedule`, { version, schedule });

export const fetchTemplates = (signal?: AbortSignal): Promise<TemplatePage> => getJson(`${API}/templates?limit=200`, signal);

export const fetchTemplate = (id: string, signal?: AbortSignal): Promise<TemplateView> => getJson(templateUrl(id), signal);

export const deleteTemplate = async (id: string): Promise<void> => void (await fetchOk(templateUrl(id), { method: "DELETE" }));

/** Starts a session with the template's plan, for the user to approve. Returns the session id. */
export const startFromTemplate = async (id: string, values: Record<string, unknown>, settings: object): Promise<string> =>
  (await postJson<{ session_id: string }>(`${templateUrl(id)}/use`, { values, settings, timeout: 20 })).session_id;

const templateUrl = (id: string): string => `${API}/templates/${encodeURIComponent(id)}`;

export const fetchProposals = (signal?: AbortSignal): Promise<ProposalPage> => getJson(`${API}/planning/proposals?limit=50`, signal);

/** The full result of an action whose journal entry holds only the beginning. */
export const fetchArtefact = (sessionId: string, turn: number, actionId: string): Promise<unknown> => getJson(artefactUrl(sessionId, turn, actionId));

const sessionUrl = (sessionId: string): string => `${API}/sessions/${encodeURIComponent(sessionId)}`;

/** What a waiting action would change. */
export const previewAction = (sessionId: string, actionId: string, signal?: AbortSignal): Promise<Preview> =>
  getJson<Preview>(`${sessionUrl(sessionId)}/actions/${encodeURIComponent(actionId)}/preview`, signal);

/** What a call would change, before the user makes it. */
export const previewCall = (sessionId: string, tool: string, args: Record<string, unknown>): Promise<Preview> =>
  postJson<Preview>(`${sessionUrl(sessionId)}/preview`, { tool, arguments: args });

/** The problems of an edited path. */
export const checkPath = (sessionId: string, nodes: readonly string[], overrides: Record<string, string>, signal?: AbortSignal): Promise<PathCheck> =>
  postJson<PathCheck>(`${sessionUrl(sessionId)}/path/check`, { nodes, given: overrides }, signal);

export const artefactUrl = (sessionId: string, turn: number, actionId: string): string => `${sessionUrl(sessionId)}/artefacts/${turn}/${encodeURIComponent(actionId)}`;

export function exportUrl(sessionId: string, format: "md" | "json" | "py"): string {
  return `${sessionUrl(sessionId)}/export?format=${format}`;
}

/** Why the connection failed. "denied" only if the gateway refused the login, not if it is unreachable. */
export async function diagnoseConnection(): Promise<ConnectionFailure> {
  try {
    await fetchAccount();
    return "busy"; // the gateway answers, but accepts no more connections
  } catch (error) {
    if (error instanceof AuthError) return "denied";
    return error instanceof RateLimitError ? "busy" : "offline";
  }
}
