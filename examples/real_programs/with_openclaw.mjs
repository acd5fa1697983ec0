// OpenClaw's own compaction (npm openclaw 2026.9.6), as a program of compactlab's protocol.
//
// Usage: node with_openclaw.mjs FOLDER, into which npm has installed the package. Node 24.16 or newer.
//
// Its functions decide: what a result is cut to when it is written (guardSessionManager) and before a
// request (truncateOversizedToolResultsInMessages); whether to flush and to compact, before a turn and
// after one (runSessionCompactionIfNeeded, runMemoryFlushIfNeeded); where to cut and what to summarise
// (AgentSession); with which text, from which pieces, and whether the summary passes (the safeguard).
// Done here is what its gateway does around them: the order of these calls, the session's entry and its
// transcript, and the recovery of a refused request. Not here: the definitions of tools, hooks, plug-ins,
// the provider's own edits, the hiding of secrets, and the mid-turn check, which is off by default.
import { Console } from "node:console";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { ask, next, send } from "./host.mjs";
import { packageIn } from "./openclaw_package.mjs";
import { FILLER, messagesOf, told, usageOf, whole } from "./pi_messages.mjs";

globalThis.console = new Console(process.stderr); // standard output is the protocol's
const [folder] = process.argv.slice(2);
const scratch = (process.env.OPENCLAW_STATE_DIR = mkdtempSync(`${tmpdir()}/openclaw-`));
const KEY = "agent:main:main";
const cfg = { agents: { defaults: { compaction: { mode: "safeguard" } } } };
const host = (globalThis.compactlab = {
  admission: () => ({ close() {} }),
  memory: { prepareMemoryFlushSession: async () => ({ sessionId: "flush", sessionKey: `${KEY}:flush`, sessionFile: "flush" }), ensureMemoryFlushTargetFile: async () => {} },
  nothing: async () => {},
});
const { version, exported } = await packageIn(folder);
const names = ["AgentSession", "SessionManager", "SettingsManager", "agentSessionAutomaticCompaction", "applyAgentCompactionSettingsFromConfig", "buildEmbeddedExtensionFactories", "buildMemoryFlushPlan", "convertToLlm", "createCompactionRequestBudget", "createToolResultPromptProjectionState", "estimateTokens", "estimateTokensAfterCompaction", "guardSessionManager", "projectCompactionAccountingPatch", "resolveLiveToolResultMaxChars", "runMemoryFlushIfNeeded", "runSessionCompactionIfNeeded", "sanitizeToolUseResultPairingForModel", "truncateOversizedToolResultsInMessages", "truncateOversizedToolResultsInSessionManager"];
const own = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await exported(name)])));
host.plan = own.buildMemoryFlushPlan;

const NONE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
const wrapped = (summary) => own.convertToLlm([{ role: "compactionSummary", summary, tokensBefore: 0, timestamp: 0 }])[0].content.map((c) => c.text).join("");
const at = (seconds) => new Date(1000 * seconds).toISOString();
let begun, known, usages, written, projections, system;

// What nobody has the text of is blank for OpenClaw, so that it quotes none of it.
const BLANK = "\u2003";

// Writing: every message once, through the guard of the session's file.

function writtenOf(sent) {
  if (!written.has(sent)) {
    const ended = ["aborted", "error"].includes(sent.origin) ? sent.origin : "stop";
    const manager = own.guardSessionManager(own.SessionManager.inMemory("/"), { config: cfg, contextWindowTokens: begun.window, allowSyntheticToolResults: false });
    const messages = messagesOf(sent, usages.get(sent.id) ?? NONE, ended).map((message) => {
      for (const block of message.content) if (block.text) block.text = block.text.replaceAll(FILLER, BLANK);
      if (message.role !== "toolResult") return message;
      manager.appendMessage(message);
      return { ...message, content: manager.getBranch().at(-1).message.content };
    });
    for (const message of messages) Object.assign(message, { compactlab: sent.id });
    written.set(sent, messages);
  }
  return written.get(sent);
}

// A message whose results were cut, as an edit.
function edited(sent, messages) {
  const texts = messages.flatMap((m) => (m.role === "toolResult" ? [m.content.find((c) => c.type === "text").text] : []));
  let number = 0, changed = false;
  const parts = sent.parts.map((part, place) => {
    const text = part.type === "tool_result" ? texts[number++] : undefined;
    if (text === undefined || !part.text || text === part.text) return place;
    changed = true;
    return { part: place, text, kind: "truncated", ...(part.kind ? {} : { sources: spansOf(sent.id, place, part.text, text) }) };
  });
  return changed ? { id: sent.id, parts } : sent.id;
}

// The spans of a text that are left of it: its beginning, and its end where that stays.
function spansOf(id, part, text, cut) {
  const kept = cut.replace(/\[\.\.\. \d+ [^\]]*\]$/, "");
  const [front, back = ""] = kept.split("\n\n\u26a0\ufe0f [... middle content omitted \u2014 showing head and tail ...]\n\n");
  const [length, first, last] = [text, front, back].map((one) => [...one].length);
  return [[0, first], [length - last, length]].filter(([start, end]) => start < end).map(([start, end]) => ({ id, part, start, end }));
}

// A session on the view's messages: entries in the order in which they came about.
function sessionOf(view, messages) {
  const { state } = view.notes; // of the last compaction; a rewind takes it back
  const summary = state && whole(messages[0]) === wrapped(state.summary) ? messages[0] : undefined;
  const body = summary ? messages.slice(1) : messages;
  const kept = summary ? body.findLastIndex((m) => m.id === state.last) + 1 : -1;
  const entries = [{ type: "session", version: 3, id: "session", timestamp: at(0), cwd: "/" }];
  const compaction = () => entries.push({ type: "compaction", id: "compaction", summary: state.summary, firstKeptEntryId: kept ? `${body[0].id}/0` : "compaction", tokensBefore: 0, details: state.details, fromHook: true });
  body.forEach((sent, place) => {
    if (place === kept) compaction();
    writtenOf(sent).forEach((message, number) => entries.push({ type: "message", id: `${sent.id}/${number}`, message }));
  });
  if (kept === body.length) compaction();
  entries.forEach((entry, place) => {
    if (!place) return;
    Object.assign(entry, { parentId: place > 1 ? entries[place - 1].id : null, timestamp: at(place) });
    if (entry.message) entry.message.timestamp = 1000 * place;
  });
  const manager = own.SessionManager.fromOwnedEntries(entries, "/");
  const model = { provider: "host", id: "host", api: "host", contextWindow: view.window, maxTokens: begun.max_output, reasoning: false, input: ["text"] };
  const settings = own.SettingsManager.inMemory();
  own.applyAgentCompactionSettingsFromConfig({ settingsManager: settings, cfg, contextTokenBudget: view.window });
  const texts = system.map((p) => p.text).filter(Boolean).join("\n");
  const prompt = texts + ".".repeat(4 * system.reduce((sum, p) => sum + (p.size ?? 0), 0));
  const budget = own.createCompactionRequestBudget({ contextWindow: view.window, reserveTokens: settings.getCompactionSettings().reserveTokens, systemPrompt: prompt, tools: [] });
  const registry = { getApiKeyAndHeaders: async () => ({ ok: true, apiKey: "none", headers: {} }) };
  const handlers = new Map();
  for (const factory of own.buildEmbeddedExtensionFactories({ cfg, sessionManager: manager, provider: "host", modelId: "host", model, contextTokenBudget: view.window, workspaceDir: scratch }))
    if (factory.name === "compactionSafeguardExtension") factory({ on: (name, handler) => handlers.set(name, handler) });
  const session = Object.create(own.AgentSession.prototype);
  const made = { parts: [], prepared: undefined };
  const runner = {
    hasHandlers: (name) => handlers.has(name),
    emit: async (event) => {
      if (event.type !== "session_before_compact") return undefined;
      made.prepared = event.preparation;
      return handlers.get(event.type)(event, { sessionManager: manager, model, modelRegistry: registry });
    },
  };
  const values = { sessionManager: manager, settingsManager: settings, eventListeners: [], currentExtensionRunner: runner, model, thinkingLevel: "off",
    disconnectFromAgent() {}, reconnectToAgent() {}, async abort() {}, emit() {}, getCompactionRequestAuth: async () => ({ apiKey: "none" }),
    agent: { state: { messages: manager.buildSessionContext().messages, tools: [], systemPrompt: prompt }, streamFn: summariser(view, summary, made) } };
  for (const [name, value] of Object.entries(values)) Object.defineProperty(session, name, { value, writable: true });
  return { session, manager, entries, summary, budget, made };
}

// The summariser is compactlab's. What is asked for is told by id, or by the parts of a summary that
// was made before; the answer stands under the headings that were asked for, if it has none.
const PREFIX = "This is the PREFIX of a turn";
function summariser(view, summary, made) {
  const HEADINGS = ["## Decisions", "## Open TODOs", "## Constraints/Rules", "## Pending user asks", "## Exact identifiers"];
  const isHeaded = (text) => text.split("\n").some((line) => HEADINGS.includes(line.trim()));
  const before = (text) => {
    const found = [...made.parts].reverse().find((one) => text.includes(one.text)) ?? (summary && { text: view.notes.state.summary, parts: unframed(summary) });
    const [lead, end] = found && text.includes(found.text) ? text.split(found.text) : [text, ""];
    return { role: "user", parts: [{ text: lead }, ...(end === "" && lead === text ? [] : found.parts), { text: end ?? "" }].filter((p) => p.text) };
  };
  return (_, context, { maxTokens }, { messages, previousSummary, prompt }) => {
    const answer = async () => {
      const request = context.messages[0].content[0].text;
      const read = request.replaceAll(BLANK, "").replaceAll(FILLER, "");
      const tokens = (await ask("count", { text: read })).tokens + (request.length - read.length) / 4;
      if (tokens > view.window) return { stopReason: "error", errorMessage: "prompt is too long", content: [], usage: NONE };
      const place = read.lastIndexOf(prompt.slice(0, 80));
      const asked = [...new Set(messages.map((m) => m.compactlab ?? before(typeof m.content === "string" ? m.content : m.content[0].text)))];
      const previous = previousSummary ? [before(previousSummary)] : [];
      const { parts } = await ask("summarize", { messages: asked, previous, max_tokens: maxTokens, instructions: context.systemPrompt + read.slice(place), transcript: read.slice(0, place), waits: view.phase !== "after_turn" });
      const all = parts.flatMap((part, n) => (n ? [{ text: "\n" }, part] : [part]));
      const told = all.map((p) => p.text).join("");
      const bare = prompt.includes(PREFIX) || isHeaded(told) || !told;
      const front = bare ? "" : `${HEADINGS[0]}\n`;
      const text = front + told + (bare ? "" : HEADINGS.slice(1).map((one) => `\n\n${one}\nNone.`).join(""));
      made.parts.push({ text, parts: all, prefix: prompt.includes(PREFIX) });
      return { stopReason: "stop", content: [{ type: "text", text }], usage: NONE };
    };
    const done = answer();
    return { async *[Symbol.asyncIterator]() {}, result: () => done };
  };
}
// The parts of an earlier summary, without the words around it.
function unframed(sent) {
  if (!sent) return [];
  const [front, back] = wrapped("\0").split("\0");
  const parts = sent.parts.map(({ text, kind, sources }) => (kind === "synthetic" ? { text } : { text, kind: kind ?? "verbatim", sources }));
  parts[0].text = parts[0].text.slice(front.length);
  parts.at(-1).text = parts.at(-1).text.slice(0, -back.length);
  return parts.filter((part) => part.text);
}

// The summary as parts: the summariser's, the turns that are quoted, the failures and the files.
function partsOf(summary, { made, summary: before }) {
  const { prepared } = made;
  const all = [...prepared.messagesToSummarize, ...prepared.turnPrefixMessages];
  const quoted = prepared.messagesToSummarize.flatMap(quotedOf);
  const failures = all.filter((m) => m.role === "toolResult" && m.isError).map((m) => {
    const text = m.content.filter((c) => c.type === "text").map((c) => c.text).join("\n").replace(/\s+/g, " ").trim() || "failed (no output)";
    return { lead: `\n- ${m.toolName || "tool"}: `, pieces: [pieceOf(m.compactlab, "", text.length > 240 ? `${text.slice(0, 237)}...` : text)] };
  });
  const named = { read: new Map(), write: new Map(), edit: new Map() }; // by path of a file, the first message
  for (const m of all)
    for (const { type, name, arguments: { path, file_path = path } = {} } of m.role === "assistant" ? m.content : []) {
      const files = type === "toolCall" && named[name.toLowerCase()];
      if (files && file_path && !files.has(file_path)) files.set(file_path, m.compactlab);
    }
  const by = { read: named.read, modified: new Map([...named.write, ...named.edit]) };
  const lists = [...summary.matchAll(/<(read|modified)-files>\n(.*?)\n(?:\.\.\.and \d+ more\n?)?<\/\1-files>/gs)].map(([, tag, text]) => ({
    lead: "-files>\n", pieces: [{ text, sources: [...new Set(text.split("\n").map((path) => by[tag].get(path)).filter(Boolean))] }] }));
  const [written, prefix] = [false, true].map((split) => {
    const parts = made.parts.findLast((one) => one.prefix === split)?.parts ?? (split ? [] : unframed(before));
    const nested = (text) => (split ? text.replace(/^##(?=[ \t]+\S)/gm, "###") : text);
    return parts.filter((p) => p.sources?.length).map((p) => ({ lead: "", pieces: [{ ...p, text: nested(p.text) }] }));
  });
  // Where each section stands: what was cut off of the appended ones is their beginning.
  const { body, sections } = host.finished;
  const places = { body: [0, body] };
  let end = summary.length;
  for (const [name, section] of sections.reverse()) {
    const length = (section?.text ?? section ?? "").length;
    places[name] = [Math.max(body, end - length), end];
    end = Math.max(body, end - length);
  }
  const found = [...put(summary, written, places.body), ...put(summary, prefix, places.generatedSplitTurnSection ?? [0, 0])];
  const turns = []; // from the newest on: an older message may have the same words
  let [first, last] = places.preservedTurnsSection ?? [0, 0];
  for (const one of quoted.reverse()) {
    const place = summary.lastIndexOf(one.lead + textOf(one), last - one.lead.length - textOf(one).length);
    if (place < first) continue;
    last = place;
    turns.unshift(one);
  }
  found.push(...turns.flatMap((one) => one.pieces), ...put(summary, failures, places.failures), ...put(summary, lists, places.files));
  return told(wrapped(summary), found);
}

// Pieces as far as they stand in a section; what a model wrote may have been cut.
function put(summary, all, [start, end]) {
  const found = [];
  for (const one of all) {
    let place = summary.indexOf(one.lead + textOf(one), start);
    let pieces = one.pieces;
    if (place < 0 || place + one.lead.length + textOf(one).length > end) {
      const { text } = pieces[0];
      place = one.lead ? -1 : summary.indexOf(text.slice(0, 12), start);
      if (place < 0 || place >= end) continue;
      let length = 0;
      while (place + length < end && length < text.length && summary[place + length] === text[length]) length += 1;
      pieces = [{ ...pieces[0], text: text.slice(0, length) }];
    }
    start = place + one.lead.length + textOf({ pieces }).length;
    found.push(...pieces);
  }
  return found;
}
const textOf = ({ pieces }) => pieces.map((p) => p.text).join("\n");

function quotedOf(m) {
  const label = m.role === "assistant" ? "Assistant" : m.role === "user" ? "User" : `Tool result (${m.toolName || "tool"})`;
  const blocks = typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content;
  const counts = new Map();
  for (const { type } of blocks) if (type !== "text") counts.set(type, (counts.get(type) ?? 0) + 1);
  const rest = [...counts].map(([type, n]) => (n > 1 ? `${type} x${n}` : type)).join(", ");
  const texts = blocks.filter((b) => b.type === "text" && b.text.trim()).map((b) => b.text.trim());
  const pieces = [];
  let room = 600;
  for (const text of texts) {
    room -= pieces.length ? 1 : 0;
    if (room > 0) pieces.push(pieceOf(m.compactlab, text, text.slice(0, room)));
    room -= text.length;
  }
  if (rest && room > 1) pieces.push({ text: `[non-text content: ${rest}]`, kind: "stub", sources: [m.compactlab] });
  return pieces.length ? [{ lead: `- ${label}: `, pieces }] : [];
}

// The beginning of a part's text, as a quotation.
function pieceOf(id, text, cut) {
  const { parts } = known.get(id);
  if (id.startsWith("program:")) return { text: cut };
  const part = parts.findIndex((p) => p.text?.trim() === text);
  if (part < 0) return { text: cut, sources: [id] };
  const start = [...parts[part].text.slice(0, parts[part].text.indexOf(text))].length;
  const kind = cut === text ? (parts[part].kind ?? "verbatim") : "truncated";
  return { text: cut, kind, sources: [{ id, part, start, end: start + [...cut].length }] };
}

// What the gateway does: it runs the maintenance, and keeps the session's entry.
async function maintained(view, now, prompt) {
  let entry = { sessionId: "session", updatedAt: 0, ...view.notes.entry };
  const store = { [KEY]: entry };
  const run = { agentId: "main", sessionId: "session", sessionKey: KEY, provider: "host", model: "host", config: cfg, workspaceDir: scratch, thinkingCatalog: [{ provider: "host", id: "host", contextWindow: view.window }] };
  const newest = now.entries.slice(1).reverse();
  let result;
  Object.assign(host, {
    stats: () => ({ sizeBytes: newest.reduce((sum, e) => sum + Buffer.byteLength(JSON.stringify(e)) + 1, 0), eventCount: newest.length }),
    events: (read) => read((visit) => newest.forEach(visit)),
    messages: async () => now.manager.buildSessionContext().messages,
    update: async (_, patch) => (store[KEY] = { ...store[KEY], ...(await patch(store[KEY])) }),
    compacted: async (params) => {
      store[KEY] = { ...store[KEY], ...own.projectCompactionAccountingPatch(store[KEY], params) };
      return store[KEY].compactionCount;
    },
    compact: async ({ currentTokenCount }, { requestBudget }) => (result = await compacted(now, { requestBudget, currentTokenCount })),
    flush: async (plan) => ask("turn", { prompt: plan.prompt, system: plan.systemPrompt, purpose: "flush", silent: "NO_REPLY", detached: true, waits: view.phase !== "after_turn" }),
  });
  const shared = { cfg, followupRun: { prompt, run }, promptForEstimate: prompt, defaultModel: "host", sessionStore: store, sessionKey: KEY, storePath: `${scratch}/sessions.json`, isHeartbeat: false };
  const flush = async (sessionEntry) => (await own.runMemoryFlushIfNeeded({ ...shared, sessionEntry })).sessionEntry;
  try {
    if (view.phase === "after_turn") {
      entry = await flush(entry);
      await own.runSessionCompactionIfNeeded({ ...shared, sessionEntry: entry, compactionRequestBudget: now.budget });
    } else await own.runSessionCompactionIfNeeded({ ...shared, sessionEntry: entry, beforeCompaction: flush });
  } catch (error) {
    if (result === undefined) throw error; // else it is about a compaction that failed: the turn goes on
  }
  return { entry: store[KEY], result };
}

async function compacted({ session, manager }, { requestState, requestBudget, currentTokenCount }) {
  const before = session.agent.state.messages.reduce((sum, m) => sum + own.estimateTokens(m), 0);
  try {
    const outcome = await session[own.agentSessionAutomaticCompaction](undefined, requestState, "none", { requestBudget });
    if (outcome.status === "skipped") return { ok: true, compacted: false, reason: outcome.reason };
    const tokensAfter = own.estimateTokensAfterCompaction({ messagesAfter: manager.buildSessionContext().messages, observedTokenCount: currentTokenCount, fullSessionTokensBefore: before, estimateTokensFn: own.estimateTokens, requestBudget });
    return { ok: true, compacted: true, result: { ...outcome.result, tokensAfter } };
  } catch (error) {
    return { ok: false, compacted: false, reason: String(error?.message ?? error) };
  }
}

// What is loaded for a turn, each call beside its result; what is made up for a missing one is new.
function repaired(items) {
  const flat = items.flatMap((item) => {
    const sent = known.get(typeof item === "string" ? item : item.id);
    return sent ? writtenOf(sent).map((m) => ({ ...m, item })) : [{ role: "user", content: "", item }];
  });
  const found = own.sanitizeToolUseResultPairingForModel(flat, false);
  if (found === flat) return items;
  return [...new Set(found.map((m) => m.item ?? madeUp(m)))];
}
const madeUp = (m) => ({ role: "tool", parts: [{ type: "tool_result", text: m.content[0].text, call_id: m.toolCallId, name: m.toolName, is_error: true }] });

// What is written of the view's messages: results as they are cut, and before a message the results
// that are made up for calls without one.
function guarded(messages) {
  const manager = own.guardSessionManager(own.SessionManager.inMemory("/"), { config: cfg, contextWindowTokens: begun.window, allowSyntheticToolResults: true });
  let count = 0;
  return messages.map((sent) => {
    for (const message of writtenOf(sent)) manager.appendMessage(message);
    const entries = manager.getBranch();
    const new_ = entries.slice(count).filter((e) => e.message && !e.message.compactlab);
    count = entries.length;
    return [...new_.map((e) => madeUp(e.message)), edited(sent, writtenOf(sent))];
  });
}

async function answer(view) {
  const notes = { ...view.notes };
  if (view.phase === "after_call") {
    const usage = usages.get(view.ids.at(-1));
    notes.entry = { ...notes.entry, totalTokens: usage.totalTokens - usage.output, totalTokensFresh: true, totalTokensVersion: 1 };
    return { notes };
  }
  const cut = guarded(view.messages);
  const changed = (messages) => (messages.length !== view.ids.length || messages.some((one, n) => one !== view.ids[n]) ? { messages } : {});
  const end = view.messages.findLastIndex((m) => m.role === "assistant") + 1;
  if (view.phase === "before_call") {
    const flat = view.messages.flatMap((sent) => writtenOf(sent));
    const limits = [begun.window, own.resolveLiveToolResultMaxChars({ contextWindowTokens: begun.window }), undefined, projections];
    const { messages: projected } = own.truncateOversizedToolResultsInMessages(flat, ...limits);
    if (projected !== flat) view.messages.forEach((sent, n) => cut[n].splice(-1, 1, edited(sent, projected.filter((m) => m.compactlab === sent.id))));
    return changed(cut.flat());
  }
  const starts = view.messages.findIndex((m, n) => n >= end && m.role === "user" && !m.meta);
  const until = view.phase === "before_turn" && starts >= 0 ? starts : view.messages.length;
  const history = view.messages.slice(0, until);
  if (!end && view.phase !== "on_overflow") return changed(cut.flat());
  const now = sessionOf(view, history);
  const said = view.messages.slice(until).filter((m) => m.role === "user" && !m.meta).map(whole).join("\n");
  let result;
  if (view.phase === "on_overflow") {
    result = await compacted(now, { requestState: "unresolved", requestBudget: now.budget, currentTokenCount: view.window + 1 });
    if (result.compacted) notes.entry = { ...notes.entry, ...own.projectCompactionAccountingPatch(notes.entry ?? {}, { tokensAfter: result.result.tokensAfter }) };
  } else ({ entry: notes.entry, result } = await maintained(view, now, said));
  if (result && !result.compacted) console.error(`${view.phase}: ${result.reason}`);
  let messages = cut.flat();
  if (result?.compacted) {
    const { summary, details } = result.result;
    const left = new Set(now.manager.buildSessionContext().messages.map((m) => m.compactlab).filter(Boolean));
    const keep = cut.slice(0, until).filter((_, n) => left.has(history[n].id));
    messages = [{ role: "user", parts: partsOf(summary, now) }, ...keep.flat(), ...cut.slice(until).flat()];
    notes.state = { summary, details, last: history.findLast((m) => left.has(m.id))?.id ?? "" };
  }
  if (view.phase === "before_turn") messages = repaired(messages);
  if (view.phase === "on_overflow" && (await size(view, messages)) > view.window) messages = await relieved(now, view, messages);
  return { ...changed(messages), notes };
}

// The tokens of what would be sent, by the host's count.
async function size(view, messages) {
  let total = view.tokens - view.messages.reduce((sum, m) => sum + m.tokens, 0);
  for (const one of messages) {
    if (typeof one === "string") total += known.get(one).tokens;
    else total += (await ask("count", { text: one.parts.map((p) => (typeof p === "number" ? known.get(one.id).parts[p].text : p.text)).join("") })).tokens;
  }
  return total;
}

// The last resort: results are cut in the session.
async function relieved({ manager }, view, messages) {
  await own.truncateOversizedToolResultsInSessionManager({ sessionManager: manager, contextWindowTokens: view.window, maxCharsOverride: own.resolveLiveToolResultMaxChars({ contextWindowTokens: view.window }), projectionState: projections });
  const left = manager.buildSessionContext().messages;
  return messages.map((one) => {
    const sent = known.get(typeof one === "string" ? one : one.id);
    return sent ? edited(sent, left.filter((m) => m.compactlab === sent.id)) : one;
  });
}

for (let line = await next(); line; line = await next()) {
  if (line.type === "hello")
    send({ type: "hello", protocol: 1, name: "openclaw", version, phases: ["before_turn", "before_call", "after_call", "after_turn", "on_overflow"], does: ["summarise", "truncate", "note"] });
  if (line.type === "begin") {
    [begun, known, usages, written, system] = [line, new Map(), new Map(), new Map(), []];
    projections = own.createToolResultPromptProjectionState();
  }
  if (line.type === "view") {
    for (const sent of line.new) known.set(sent.id, sent);
    system = line.system ?? system;
    const messages = line.ids.map((id) => known.get(id));
    if (line.phase === "after_call") usages.set(line.ids.at(-1), usageOf(line.usage));
    send({ type: "answer", id: line.id, ...(await answer({ ...line, messages })) });
  }
}
rmSync(scratch, { recursive: true, force: true });
process.exit(0);
