// A client of Parley in plain JavaScript, written from docs/protocol.md alone: it follows one session to its end.
//
//   node --experimental-websocket plain_client.mjs URL WORKFLOW REQUEST SETTINGS
//
// With a URL that ends in /ws it speaks protocol 1, with /ws?view=2 protocol 2. It approves whatever waits, answers
// questions by their first option, and prints as JSON what it has of the session when nothing is left to do.

const [url, workflow, request, settings] = process.argv.slice(2);
const socket = new WebSocket(url);
const send = (message) => socket.send(JSON.stringify(message));
const tell = (found) => (console.log(JSON.stringify(found)), socket.close());
const kinds = [];
let sessionId, last = 0;

const first = { type: "user_message", content: request, workflow, settings: JSON.parse(settings) };

// --- protocol 1: what is asked comes as a message of its own

function one(message) {
  switch (message.type) {
    case "text_plan_review":
    case "code_review":
      return send({ type: "approval", approved: true, version: message.version, hash: message.hash });
    case "approval_request":
      for (const action of message.actions) send({ type: "approval", approved: true, action_id: action.action_id, hash: action.hash });
      return;
    case "question":
      return send({ type: "answer", question_id: message.question_id, content: answerTo(message) });
    case "continue":
      return tell({ sessionId, kinds, last });
    case "failed":
      return tell({ sessionId, kinds, last, failure: message.failure });
  }
}

// --- protocol 2: a view whose sections are replaced, and a journal kept by key

let view, can = [];
const journal = new Map();
const asked = new Set(); // what has been decided already

function two(message) {
  if (message.type === "snapshot") ({ view, can } = message);
  if (message.type !== "event") return;
  for (const entry of message.entries)
    if (entry.kind !== "update") journal.set(entry.key, entry);
    else if (journal.has(entry.key)) Object.assign(journal.get(entry.key), entry.set);
  const actions = { ...view?.actions, ...message.changed.actions };
  for (const id in actions) if (actions[id] === null) delete actions[id];
  view = { ...view, ...message.changed, actions };
  can = message.can ?? can;
  act();
}

function once(key, message) {
  if (asked.has(key)) return;
  asked.add(key);
  send(message);
}

function act() {
  const { review, approval_request: waiting, question } = view;
  if (review) once(`review ${review.version}`, { type: "approval", approved: true, version: review.version, hash: review.hash });
  for (const id of waiting?.actions ?? []) once(`action ${id} ${view.actions[id].hash}`, { type: "approval", approved: true, action_id: id, hash: view.actions[id].hash });
  if (question) once(`question ${question.question_id} ${last}`, { type: "answer", question_id: question.question_id, content: answerTo(question) });
  if (view.failure || view.phase === "resting") tell({ sessionId, kinds, last, view, can, failure: view.failure, journal: [...journal.values()] });
}

function answerTo({ form, options, content }) {
  if (form?.kind === "tables") return JSON.stringify({ tables: form.tables.filter((one) => one.chosen).map((one) => one.name) });
  return options[0] ?? `I have nothing to add to: ${content}`;
}

socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "greeting") {
    sessionId = message.session_id;
    return send(first);
  }
  if (message.type === "error") return tell({ error: message });
  if (message.type === "event") last = message.version;
  if (message.type !== "delta") kinds.push(message.type);
  (url.includes("view=2") ? two : one)(message);
};
socket.onerror = () => process.exit(1);
