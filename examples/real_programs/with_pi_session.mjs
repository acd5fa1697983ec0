// pi's own session (@earendil-works/pi-coding-agent 1.6.0), as a program of compactlab's protocol.
//
// Usage: node with_pi_session.mjs FOLDER, into which npm has installed the package.
//
// The methods of its AgentSession decide whether to compact, where to cut, what is summarised and
// with which text, over a session in memory that is made anew from each view. When its loop calls
// them is done here: after a run and before a prompt, before an answer to results of tools, and
// after a refused request.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ask, next, send } from "./host.mjs";
import { messagesOf, told, usageOf, whole, withoutFiller } from "./pi_messages.mjs";

const [folder] = process.argv.slice(2);
const scope = `${folder}/node_modules/@earendil-works`;
const load = (path) => import(pathToFileURL(`${scope}/${path}`));
const version = JSON.parse(readFileSync(`${scope}/pi-coding-agent/package.json`, "utf8")).version;
const { AgentSession } = await load("pi-coding-agent/dist/core/agent-session.js");
const { SessionManager } = await load("pi-coding-agent/dist/core/session-manager.js");
const { SettingsManager } = await load("pi-coding-agent/dist/core/settings-manager.js");
const { COMPACTION_SUMMARY_PREFIX, COMPACTION_SUMMARY_SUFFIX } = await load("pi-coding-agent/dist/core/messages.js");
const { clampMaxTokensToContext } = await load("pi-ai/dist/api/simple-options.js");

const counts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const NONE = { ...counts, totalTokens: 0, cost: { ...counts, total: 0 } };
const DEFAULT_OUTPUT = 16384; // of a model of which pi is told no other
const wrapped = (summary) => COMPACTION_SUMMARY_PREFIX + summary + COMPACTION_SUMMARY_SUFFIX;
const at = (seconds) => ({ timestamp: new Date(1000 * seconds).toISOString() });
let begun;
let usages = new Map(); // by id of an answer

// The entries of a session on the view's messages, in the order in which they came about, and the
// ids of the view's messages by pi's.
function entriesOf(view, messages) {
  const { state } = view.notes; // of the last compaction; a rewind takes it back
  const summary = state && whole(messages[0]) === wrapped(state.summary) ? messages[0] : undefined;
  const body = summary ? messages.slice(1) : messages;
  const kept = summary ? body.findLastIndex((m) => m.id === state.last) + 1 : -1;
  const system = (view.system ?? []).map((p) => p.text + ".".repeat(4 * (p.size ?? 0))).join("");
  const prompt = { role: "system", content: "", sections: { all: system }, timestamp: 0 };
  const entries = system && !summary ? [{ type: "message", id: "system", message: prompt }] : [];
  const owner = new Map();
  const compaction = () =>
    entries.push({ type: "compaction", id: "compaction", summary: state.summary, firstKeptEntryId: kept ? `${body[0].id}/0` : "compaction",
      tokensBefore: 0, details: state.details, ...(system ? { systemMessage: prompt } : {}) });
  body.forEach((sent, place) => {
    if (place === kept) compaction();
    const ended = ["aborted", "error"].includes(sent.origin) ? sent.origin : "stop";
    messagesOf(sent, usages.get(sent.id) ?? NONE, ended).forEach((message, number) => {
      entries.push({ type: "message", id: `${sent.id}/${number}`, message });
      owner.set(message, sent.id);
    });
  });
  if (kept === body.length) compaction();
  entries.forEach((entry, place) => {
    Object.assign(entry, { parentId: place ? entries[place - 1].id : null, ...at(place) });
    if (entry.message) entry.message.timestamp = 1000 * place;
  });
  return { entries, owner, summary };
}

// A session of pi's over them. Its summaries are compactlab's, `asked` says for which messages.
function sessionOf(view, { entries, owner, summary }) {
  const session = Object.create(AgentSession.prototype);
  const model = { provider: "host", id: "host", api: "host", contextWindow: view.window, maxTokens: begun.max_output || DEFAULT_OUTPUT, reasoning: false, input: ["text"] };
  const made = [];
  // By path of a file, the first message that reads, writes or edits it.
  const { read, edit } = view.notes.state?.named ?? {};
  const named = { read: { ...read }, write: {}, edit: { ...edit } };
  let asked = [];
  const ids = (list) => [...new Set(list.map((m) => owner.get(m)).filter(Boolean))];
  Object.assign(session, {
    sessionManager: SessionManager.inMemory("/", undefined, entries),
    settingsManager: SettingsManager.inMemory({ retry: { enabled: false } }),
    _eventListeners: [(event) => event.errorMessage && console.error(event.errorMessage)],
    _entryIdsByMessage: new WeakMap(),
    _overflowRecoveryAttempted: false,
    _modelRuntime: { getAuth: async () => undefined },
    _extensionRunner: {
      hasHandlers: (name) => name === "session_before_compact",
      emit: async ({ type, preparation: p }) => {
        if (type !== "session_before_compact") return;
        const previous = summary && p.previousSummary ? [summary.id] : [];
        const split = p.isSplitTurn && p.turnPrefixMessages.length;
        asked = split ? [{ messages: ids(p.turnPrefixMessages), previous: [] }] : [];
        if (p.messagesToSummarize.length || !split) asked.unshift({ messages: ids(p.messagesToSummarize), previous });
        else if (previous.length) made.push(summary.parts.filter((part) => part.sources?.length));
        for (const m of [...p.messagesToSummarize, ...p.turnPrefixMessages])
          for (const { name, arguments: { path } = {} } of m.role === "assistant" ? m.content : []) if (path && named[name]) named[name][path] ??= owner.get(m);
      },
    },
  });
  async function summarise(model, context, options) {
    const [system, prompt] = ["system", "user"].map((role) => context.messages.find((m) => m.role === role).content).map((c) => (typeof c === "string" ? c : c[0].text));
    const transcript = withoutFiller(prompt);
    const tokens = (await ask("count", { text: transcript })).tokens + (prompt.length - transcript.length) / 4;
    if (tokens > view.window) return { stopReason: "error", errorMessage: `prompt is too long: ${tokens} tokens`, content: [], usage: NONE };
    const limit = clampMaxTokensToContext(model, context, model.maxTokens);
    const marked = options.cacheRetention !== "none";
    const { parts } = await ask("summarize", { ...asked.shift(), max_tokens: limit, instructions: system, transcript, marked });
    made.push(parts);
    const output = parts.reduce((sum, part) => sum + part.tokens, 0);
    const text = parts.map((p) => p.text).join("\n");
    return { stopReason: Math.max(1, output) >= limit ? "length" : "stop", content: [{ type: "text", text }], usage: NONE };
  }
  session.agent = {
    state: { model, thinkingLevel: "off", tools: [], messages: session.sessionManager.buildSessionProjection().messages },
    hasQueuedMessages: () => false,
    streamFunction: async (...request) => ({ result: () => summarise(...request) }),
  };
  return { session, made, named };
}

// The lists of files as parts that stand for the messages that name them, as they are carried on.
function listed({ readFiles, modifiedFiles }, { read, write, edit }) {
  const ids = [[readFiles, read], [modifiedFiles, { ...write, ...edit }]].map(([paths, by]) => Object.fromEntries(paths.map((path) => [path, by[path]])));
  const parts = ids.map((by) => ({ text: Object.keys(by).join("\n"), sources: [...new Set(Object.values(by).filter(Boolean))] }));
  return { lists: parts.filter((part) => part.text), carried: { read: ids[0], edit: ids[1] } };
}

async function answer(view) {
  let messages = view.messages;
  const prompt = messages.findLastIndex((m) => m.role === "user" && !m.meta);
  if (view.phase === "before_turn" && prompt >= 0) messages = messages.slice(0, prompt);
  const told_ = entriesOf(view, messages);
  const { session, made, named } = sessionOf(view, told_);
  const manager = session.sessionManager;
  const sent = session.agent.state.messages;
  const last = sent.findLastIndex((m) => m.role === "assistant");
  const running = last >= 0 && sent[last].stopReason === "stop" && sent.slice(last + 1).some((m) => m.role === "toolResult");
  if (view.phase === "on_overflow") {
    manager.appendMessage({ role: "assistant", content: [], stopReason: "error", errorMessage: "prompt is too long", provider: "host", model: "host", usage: NONE, timestamp: Date.now() });
    session._refreshFinalizedContext();
    await session._checkCompaction(session._findLastAssistantMessage());
  } else if (last < 0) return {};
  else if (view.phase === "before_call") {
    const answered = view.messages.findLastIndex((m) => m.role === "assistant");
    if (!running || prompt > answered) return {};
    await session._compactBeforeNextAssistantResponse({ messages: sent });
  } else if (running) await session._compactBeforeNextAssistantResponse({ messages: sent });
  else await session._checkCompaction(sent[last], view.phase === "after_turn");
  const compaction = manager.getBranch().at(-1);
  if (compaction?.type !== "compaction" || compaction.id === "compaction") return {};
  const keep = [...new Set(manager.buildSessionProjection().messages.map((m) => told_.owner.get(m)).filter(Boolean))];
  const arrived = view.messages.slice(messages.length).map((m) => m.id);
  const { summary, details } = compaction;
  const { lists, carried } = listed(details, named);
  const parts = told(wrapped(summary), [...made.flat(), ...lists]);
  const state = { summary, details, named: carried, last: keep.at(-1) ?? "" };
  return { messages: [{ role: "user", parts }, ...keep, ...arrived], notes: { state } };
}

let known = new Map();
let system = [];
for (let line = await next(); line; line = await next()) {
  if (line.type === "hello")
    send({ type: "hello", protocol: 1, name: "pi", version, phases: ["before_turn", "before_call", "after_call", "after_turn", "on_overflow"], does: ["summarise"] });
  if (line.type === "begin") [begun, known, usages] = [line, new Map(), new Map()];
  if (line.type === "view") {
    for (const sent of line.new) known.set(sent.id, sent);
    system = line.system ?? system;
    const messages = line.ids.map((id) => known.get(id));
    if (line.phase === "after_call") usages.set(line.ids.at(-1), usageOf(line.usage));
    send({ type: "answer", id: line.id, ...(line.phase === "after_call" ? {} : await answer({ ...line, system, messages })) });
  }
}
