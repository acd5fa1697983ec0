// Records what pi's compaction answers to small sessions: the files pi_compaction_*_1.6.0.json.
//
//     node tests/conformance/record_pi_compaction.mjs FOLDER
//
// FOLDER is where `npm install --ignore-scripts @earendil-works/pi-coding-agent@1.6.0` was run. pi
// needs Node 22.19 or newer (recorded with 24.19.0). The sessions are made up here; the answers are
// those of pi's own functions. Long texts are place-holders, see vectors.py.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const VERSION = "1.6.0";
const scope = join(resolve(process.argv[2] ?? "."), "node_modules/@earendil-works");
const load = (path) => import(pathToFileURL(join(scope, path)));
const package_ = JSON.parse(readFileSync(join(scope, "pi-coding-agent/package.json"), "utf8"));
if (package_.version !== VERSION) throw new Error(`recorded are the answers of ${VERSION}, not of ${package_.version}`);
const { compact, prepareCompaction, estimateTokens, serializeConversation } = await load("pi-coding-agent/dist/core/compaction/index.js");
const { buildSessionProjection } = await load("pi-coding-agent/dist/core/session-manager.js");
const { SettingsManager } = await load("pi-coding-agent/dist/core/settings-manager.js");
const { convertToLlm } = await load("pi-coding-agent/dist/core/messages.js");
const { clampMaxTokensToContext } = await load("pi-ai/dist/api/simple-options.js");

const expand = (value) => {
	if (Array.isArray(value)) return value.map(expand);
	if (value === null || typeof value !== "object") return value;
	if ("$rep" in value) return value.$rep[0].repeat(value.$rep[1]);
	return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item)]));
};
const long = (text, times = 1) => ({ $rep: [text, times] });
const tokens = (count) => long("four", count);

// Entries of 100 estimated tokens each: u(ser), a(nswer), c(all) of a tool, r(esult), m(essage of an
// extension), b(ash), s(ummary of a branch), l(abel); ids are letters and places.
let calls = 0;
const kinds = {
	u: (size) => ({ type: "message", message: { role: "user", content: tokens(size) } }),
	i: (size) => ({ type: "message", message: { role: "user", content: [{ type: "text", text: tokens(size) }, image] } }),
	a: (size) => ({ type: "message", message: says({ type: "text", text: tokens(size) }) }),
	c: (size) => ({ type: "message", message: says({ type: "text", text: tokens(size) }, call("read", { path: `src/${++calls}.ts` })) }),
	w: (size) => ({ type: "message", message: says({ type: "thinking", thinking: tokens(size) }, call("write", { path: `src/${++calls}.ts`, content: "x" })) }),
	e: () => ({ type: "message", message: { ...says(), stopReason: "error", errorMessage: "prompt is too long" } }),
	r: (size) => ({ type: "message", message: { role: "toolResult", toolCallId: `c${calls}`, toolName: "read", isError: false, content: [{ type: "text", text: tokens(size) }] } }),
	p: (size) => ({ type: "message", message: { role: "toolResult", toolCallId: `c${calls}`, toolName: "read", isError: false, content: [{ type: "text", text: tokens(size) }, image] } }),
	b: (size) => ({ type: "message", message: { role: "bashExecution", command: "make", output: tokens(size - 1), exitCode: 0, cancelled: false, truncated: false } }),
	m: (size) => ({ type: "custom_message", customType: "notes", content: tokens(size), display: true }),
	s: (size) => ({ type: "branch_summary", fromId: "u0", summary: tokens(size) }),
	l: () => ({ type: "label", targetId: "u0", label: "here" }),
};
const image = { type: "image", data: "", mimeType: "image/png" };
const call = (name, args) => ({ type: "toolCall", id: `c${calls}`, name, arguments: args });
const says = (...content) => ({ role: "assistant", content, api: "anthropic-messages", provider: "anthropic", model: "m1", stopReason: "stop" });
const told = (script, sizes = {}) => [...script].map((letter, place) => ({ id: `${letter}${place}`, ...kinds[letter](sizes[`${letter}${place}`] ?? 100) }));
const compaction = (id, firstKeptEntryId, more = {}) => ({ type: "compaction", id, summary: "What was before.", firstKeptEntryId, tokensBefore: 100, ...more });
const edit = (id, targetId, replacement = null) => ({ type: "context_edit", id, targetId, replacement });
const used = (total, more = {}) => ({ input: total, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: total, ...more });
const withUsage = (entries, usages) => entries.map((entry) => (usages[entry.id] ? { ...entry, message: { ...entry.message, usage: usages[entry.id] } } : entry));
const chained = (entries) =>
	entries.map((entry, place) => {
		const seconds = new Date(Date.UTC(2026, 10, 1, 10, 0, place)).toISOString();
		const message = entry.message && { ...entry.message, timestamp: 1793527200000 + 1000 * place };
		return { ...entry, parentId: place ? entries[place - 1].id : null, timestamp: seconds, ...(message ? { message } : {}) };
	});

const refused = (script, sizes) => [...told(script, sizes), { id: "refused", ...kinds.e() }, edit("out", "refused")];
const sessions = {
	"nothing": [],
	"one prompt": told("u"),
	"two turns": told("uaua"),
	"work": told("ucrcrcraucrcra"),
	"one long turn": told("ucrcrcrcrcra"),
	"a large result at the end": told("uaucrcr", { r6: 900 }),
	"large results at the end": told("uauwcrr", { r5: 400, r6: 400 }),
	"a large result alone": told("ucr", { r2: 900 }),
	"large results of the first call": told("ucrr", { r2: 400, r3: 400 }),
	"extensions": told("uammua", { m2: 300, m3: 300 }),
	"an extension begins": told("mamaa"),
	"an extension splits": told("uaama"),
	"images": told("iaiapai"),
	"an image in a result": told("ucpaup"),
	"the user's commands": told("uabauab"),
	"a command splits": told("ubaaa"),
	"branches": told("uasaua"),
	"labels": told("ualuallua"),
	"answers alone": told("aaaa"),
	"results without a call": told("rrua"),
	"files": told("ucrwrcrwra"),
	"a compaction": [...told("uaua"), compaction("k", "u2"), ...told("....ucra".slice(4)).map((each) => ({ ...each, id: `n${each.id}` }))],
	"a compaction that kept nothing": [...told("uaua"), compaction("k", "k"), { id: "n1", ...kinds.u(100) }, { id: "n2", ...kinds.a(100) }],
	"a compaction that kept what is gone": [...told("uaua"), compaction("k", "gone"), { id: "n1", ...kinds.u(100) }, { id: "n2", ...kinds.a(100) }],
	"a compaction with files": [...told("uaua"), compaction("k", "u2", { details: { readFiles: ["a.ts"], modifiedFiles: ["b.ts"] } }), { id: "n1", ...kinds.c(100) }, { id: "n2", ...kinds.r(100) }],
	"a compaction by an extension": [...told("uaua"), compaction("k", "u2", { fromHook: true, details: { readFiles: ["a.ts"], modifiedFiles: [] } }), { id: "n1", ...kinds.c(100) }],
	"two compactions": [...told("uaua"), compaction("k", "u2"), { id: "n1", ...kinds.u(100) }, { id: "n2", ...kinds.a(100) }, compaction("k2", "a3"), { id: "n3", ...kinds.u(100) }, { id: "n4", ...kinds.a(100) }],
	"a compaction at the end": [...told("uaua"), compaction("k", "u2")],
	"a label after a compaction": [...told("uaua"), compaction("k", "u2"), { id: "n1", ...kinds.l() }],
	"a label after a compaction that kept nothing": [...told("uaua"), compaction("k", "k"), { id: "n1", ...kinds.l() }],
	"only a turn's beginning since": [...told("uaua"), compaction("k", "k"), ...["u", "c", "r", "c", "r", "c", "r"].map((kind, n) => ({ id: `n${n}`, ...kinds[kind](100) }))],
	"a result is omitted": [...told("ucraua"), edit("x", "r2")],
	"a call and its result are omitted": [...told("ucraua"), edit("x", "c1"), edit("y", "r2")],
	"a result is shortened": [...told("ucraua"), edit("x", "r2", { content: "[cut]" })],
	"an answer is replaced": [...told("ucraua"), edit("x", "a3", { content: [{ type: "text", text: "Short." }] })],
	"the last edit wins": [...told("ucraua"), edit("x", "r2", { content: "[one]" }), edit("y", "r2", { content: [{ type: "text", text: tokens(50) }] })],
	"a call is edited away": [...told("uwrauaua"), edit("x", "w1", { content: [{ type: "text", text: "So." }] })],
	"an edit of what a compaction hid": [...told("uaua"), compaction("k", "u2"), edit("x", "u0", { content: "x" }), { id: "n1", ...kinds.u(100) }],
	"an edit of what a compaction kept": [...told("uaua"), edit("x", "u2", { content: "Brief." }), compaction("k", "u2"), { id: "n1", ...kinds.u(100) }, { id: "n2", ...kinds.a(100) }],
	"an extension's message is edited": [...told("umaua"), edit("x", "m1", { content: tokens(20) })],
	"a refused prompt": refused("uau", { u2: 900 }),
	"a refused prompt, and a label": [...refused("uau", { u2: 900 }), { id: "n", ...kinds.l() }],
	"a refused prompt after an edit": [...told("uau", { u2: 900 }), edit("x", "a1", { content: "Brief." }), { id: "refused", ...kinds.e() }, edit("out", "refused")],
	"a refused prompt that fits": refused("uau"),
	"a refused result": refused("uaucr", { r4: 900 }),
	"a refused prompt after a compaction": [...told("uaua"), compaction("k", "k"), { id: "n1", ...kinds.u(900) }, { id: "refused", ...kinds.e() }, edit("out", "refused")],
	"a refusal that stays": [...told("uau", { u2: 900 }), { id: "refused", ...kinds.e() }],
	"usage": withUsage(told("uaucra"), { a1: used(500), c3: used(900) }),
	"usage without a total": withUsage(told("uaua"), { a3: used(0, { input: 300, output: 20, cacheRead: 40, cacheWrite: 1 }) }),
	"usage of zero": withUsage(told("uaua"), { a1: used(500), a3: used(0) }),
	"usage before an edit": [...withUsage(told("ucraua"), { a3: used(800), a5: used(900) }), edit("x", "r2")],
	"usage after an edit": withUsage([...told("ucra"), edit("x", "r2"), { id: "n1", ...kinds.u(100) }, { id: "n2", ...kinds.a(100) }, { id: "n3", ...kinds.u(100) }], { n2: used(700) }),
	"usage before a compaction": [...withUsage(told("uaua"), { a3: used(800) }), compaction("k", "u2"), { id: "n1", ...kinds.u(100) }],
	"usage after a compaction": withUsage([...told("uaua"), compaction("k", "u2"), { id: "n1", ...kinds.u(100) }, { id: "n2", ...kinds.a(100) }, { id: "n3", ...kinds.u(100) }], { a3: used(900), n2: used(600) }),
	"usage of an answer that was broken off": withUsage(told("uaua").map((entry) => (entry.id === "a3" ? { ...entry, message: { ...entry.message, stopReason: "aborted" } } : entry)), { a1: used(500), a3: used(900) }),
};
for (const name of Object.keys(sessions)) sessions[name] = chained(sessions[name]);

const KEEP = [0, 100, 250, 600, 20000];
const settings = (keepRecentTokens) => ({ enabled: true, reserveTokens: 16384, keepRecentTokens });
const prepared = (name, keep) => {
	const entries = expand(sessions[name]);
	const result = prepareCompaction(entries, settings(keep));
	const places = new Map();
	for (const { sourceEntry, messages } of buildSessionProjection(entries).entries)
		for (const message of messages) places.set(JSON.stringify(message), entries.indexOf(sourceEntry));
	return { entries, result, places };
};
const written = ({ entries, places }, message) => {
	const place = places.get(JSON.stringify(message));
	const entry = entries[place];
	if (entry.type !== "message") return { $made: place, tokens: estimateTokens(message) };
	const same = JSON.stringify(entry.message) === JSON.stringify(message);
	return same ? { $entry: place } : { $edited: place, tokens: estimateTokens(message) };
};

const text = (value) => {
	if (typeof value !== "string" || value.length <= 300) return value;
	const units = Buffer.from(value, "utf16le");
	return { $str: { utf16_length: value.length, sha256_utf16le: createHash("sha256").update(units).digest("hex"), tail: value.slice(-60) } };
};

const files = {};
const record = (name, function_, shared, cases) => {
	const head = { function: function_, package: package_.name, version: VERSION };
	const lines = Object.entries(shared).map(([key, value]) => {
		const inside = Object.entries(value).map(([id, item]) => `  ${JSON.stringify(id)}: ${JSON.stringify(item)}`);
		return ` ${JSON.stringify(key)}: {\n${inside.join(",\n")}\n },\n`;
	});
	const body = cases.map((each) => `  ${JSON.stringify(each)}`).join(",\n");
	files[name] = `{${JSON.stringify(head).slice(1, -1)},\n${lines.join("")} "cases": [\n${body}\n ]}\n`;
};

record("prepare", "prepareCompaction", { sessions }, Object.keys(sessions).flatMap((name) =>
	KEEP.map((keep) => {
		const all = prepared(name, keep);
		const { result } = all;
		const output = result && {
			firstKeptEntryId: result.firstKeptEntryId,
			messagesToSummarize: result.messagesToSummarize.map((each) => written(all, each)),
			turnPrefixMessages: result.turnPrefixMessages.map((each) => written(all, each)),
			isSplitTurn: result.isSplitTurn,
			tokensBefore: result.tokensBefore,
			previousSummary: result.previousSummary ?? null,
			fileOps: { read: [...result.fileOps.read], written: [...result.fileOps.written], edited: [...result.fileOps.edited] },
		};
		return { name: `${name}, keep ${keep}`, input: { entries: name, settings: settings(keep) }, output: output ?? null };
	}),
));

// What a request for a summary holds, without pi's instructions.
const model = { id: "m1", api: "anthropic-messages", provider: "anthropic", contextWindow: 200000, maxTokens: 64000, reasoning: false };
const part = (prompt, from, to) => (prompt.includes(from) && prompt.includes(to) ? prompt.slice(prompt.indexOf(from) + from.length, prompt.indexOf(to)) : null);
const asked = async (name, keep, focus) => {
	const { result } = prepared(name, keep);
	if (!result) return null;
	const requests = [];
	const stream = async (model, context, options) => {
		const prompt = context.messages.find((each) => each.role === "user").content[0].text;
		const headed = prompt.startsWith("# Conversation\n");
		const previous = part(prompt, "<previous-summary>\n", "\n</previous-summary>");
		const kind = headed ? "turn_prefix" : previous === null ? "initial" : "update";
		requests.push({
			call: requests.length + 1,
			kind,
			maxTokens: clampMaxTokensToContext(model, context, options.maxTokens ?? model.maxTokens),
			cacheRetention: options.cacheRetention,
			previousSummary: previous,
			additionalFocus: prompt.split("\n\nAdditional focus: ")[1] ?? null,
			conversation: text(headed ? part(prompt, "# Conversation\n", "\n\n# Instructions\n") : part(prompt, "<conversation>\n", "\n</conversation>")),
		});
		const said = `SUMMARY-${requests.length}(${kind})`;
		return { result: async () => ({ stopReason: "stop", content: [{ type: "text", text: said }], usage: { ...used(0), cost: { total: 0 } } }) };
	};
	const { summary, firstKeptEntryId, tokensBefore, details } = await compact(result, model, undefined, undefined, focus, undefined, undefined, stream);
	return { calls: requests, result: { summary, firstKeptEntryId, tokensBefore, details } };
};
const compacted = ["two turns", "work", "one long turn", "a large result at the end", "files", "a compaction", "only a turn's beginning since", "a compaction with files", "a refused prompt", "a refused prompt after a compaction", "a result is shortened", "extensions", "nothing"];
const compactions = [];
for (const name of compacted)
	for (const [keep, focus] of [[250, null], [100, "the tests"]])
		compactions.push({ name: `${name}, keep ${keep}`, input: { entries: name, keepRecentTokens: keep, reserveTokens: 16384, customInstructions: focus }, output: await asked(name, keep, focus ?? undefined) });
record("compact", "compact(prepareCompaction(entries))", { sessions: Object.fromEntries(compacted.map((name) => [name, sessions[name]])) }, compactions);

const conversations = {
	"thinking and words": [{ role: "assistant", content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "so" }, { type: "thinking", thinking: "ah" }, { type: "text", text: "be it" }] }],
	"thinking alone": [{ role: "assistant", content: [{ type: "thinking", thinking: "hm" }] }, { role: "user", content: "And?" }],
	"an empty answer": [{ role: "assistant", content: [{ type: "text", text: "" }] }],
	"calls": [{ role: "assistant", content: [{ type: "text", text: "I look." }, { type: "toolCall", id: "c1", name: "read", arguments: { path: "x.md", n: 2, list: [1, "x"] } }, { type: "toolCall", id: "c2", name: "ls", arguments: {} }] }],
	"a long result": [{ role: "toolResult", toolCallId: "c1", toolName: "read", content: [{ type: "text", text: long("x", 2007) }] }],
	"a result of 2,000": [{ role: "toolResult", toolCallId: "c1", toolName: "read", content: [{ type: "text", text: long("x", 2000) }] }],
	"a rocket at the cut": [{ role: "toolResult", toolCallId: "c1", toolName: "read", content: [{ type: "text", text: long("x", 1999) }, { type: "text", text: "\u{1f680}y" }] }],
	"rockets": [{ role: "toolResult", toolCallId: "c1", toolName: "read", content: [{ type: "text", text: long("\u{1f680}", 1500) }] }],
	"images": [{ role: "user", content: [image, { type: "text", text: "Look." }] }, { role: "toolResult", toolCallId: "c1", toolName: "read", content: [image] }],
	"other roles": [{ role: "custom", customType: "notes", content: "Mind the tests.", display: true }, { role: "bashExecution", command: "make", output: "fine", exitCode: 0, cancelled: false, truncated: false }, { role: "branchSummary", summary: "Elsewhere.", fromId: "x" }],
};
record("serialise", "serializeConversation(convertToLlm(messages))", {}, Object.entries(conversations).map(([name, messages]) => ({ name, input: { messages }, output: text(serializeConversation(convertToLlm(expand(messages)))) })));

const all = { ...Object.fromEntries(Object.values(sessions).flat().filter((entry) => entry.message).map((entry) => [JSON.stringify({ ...entry.message, timestamp: 0 }), entry.message])) };
const weighed = [...Object.values(all), ...Object.values(conversations).flat(), { role: "custom", customType: "notes", content: [image, { type: "text", text: "x" }], display: true }, { role: "user", content: [image, image] }, { role: "assistant", content: [image] }];
record("tokens", "estimateTokens", {}, weighed.map((message, n) => ({ name: `${message.role} ${n}`, input: { message }, output: estimateTokens(expand(message)) })));

const limits = [];
for (const window of [32000, 80000, 200000, 1000000])
	for (const characters of [0, 1000, 100000, 300000, 600000])
		for (const output of [8192, 64000]) {
			const context = { messages: [{ role: "system", content: "x".repeat(310) }, { role: "user", content: "x".repeat(characters) }] };
			const input = { characters, contextWindow: window, maxTokens: output };
			limits.push({ name: `${characters} of ${window}, ${output}`, input, output: clampMaxTokensToContext({ contextWindow: window }, context, output) });
		}
record("limit", "clampMaxTokensToContext", {}, limits);

const budgets = [{}, { reserveTokens: 30000 }, { modelOverrides: { "anthropic/m1": { reserveTokens: 1, keepRecentTokens: 2 } } }, { keepRecentTokens: 5, modelOverrides: { "anthropic/m2": { reserveTokens: 1, keepRecentTokens: 2 } } }];
record("settings", "getCompactionSettings", {}, budgets.map((compaction, n) => {
	const { reserveTokens, keepRecentTokens } = SettingsManager.inMemory({ compaction }).getCompactionSettings({ provider: "anthropic", id: "m1" });
	return { name: String(n), input: { compaction, model: "anthropic/m1" }, output: { reserveTokens, keepRecentTokens } };
}));

for (const [name, content] of Object.entries(files)) {
	const file = join(dirname(fileURLToPath(import.meta.url)), "recorded", `pi_compaction_${name}_${VERSION}.json`);
	writeFileSync(file, content);
	console.log(`${JSON.parse(content).cases.length} cases: ${file}`);
}
