// Records what OpenClaw's own functions answer to small inputs: recorded/openclaw_*_2026.9.6.json.
//
//     node tests/conformance/record_openclaw.mjs FOLDER
//
// FOLDER is where `npm install --ignore-scripts openclaw@2026.9.6` was run; it needs Node 24.16 or
// newer (recorded with 24.19.0). The inputs are made up here. What the package exports is found by
// its name; what its tests can reach is asked as its tests do.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

process.env.VITEST = "1";
const VERSION = "2026.9.6";
const home = join(resolve(process.argv[2] ?? "."), "node_modules/openclaw");
const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
if (version !== VERSION) throw new Error(`recorded are the answers of ${VERSION}, not of ${version}`);

const dist = join(home, "dist");
const chunks = readdirSync(dist)
	.filter((name) => name.endsWith(".mjs"))
	.map((name) => [name, readFileSync(join(dist, name), "utf8")]);
const load = (name) => import(pathToFileURL(join(dist, name)));
async function exported(name) {
	for (const [file, text] of chunks) {
		const found = text.slice(text.lastIndexOf("export {")).match(new RegExp(`\\b${name} as ([\\w$]+)`));
		if (found && text.includes(`function ${name}(`)) return (await load(file))[found[1]];
	}
	throw new Error(`${name} is exported nowhere`);
}
const [guarding] = chunks.find(([, text]) => text.includes("compactionSafeguardTestApi"));
await load(guarding);
const safeguard = globalThis[Symbol.for("openclaw.compactionSafeguardTestApi")];

const names = [
	"estimateStringCharsWithMinimumRawWeight", "estimateTokens", "estimateMessageTokenPressure",
	"resolveLiveToolResultMaxChars", "truncateToolResultText", "truncateToolResultMessage",
	"estimateToolResultReductionPotential", "resolveEffectiveCompactionReserveTokens",
	"isSilentReplyText", "shouldPreemptivelyCompactBeforePrompt", "prepareCompaction",
	"buildStageSplitPlan", "buildSummaryChunks", "buildOversizedFallbackPlan", "buildHistoryPrunePlan",
];
const own = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await exported(name)])));

function expand(value) {
	if (Array.isArray(value)) return value.map(expand);
	if (!value || typeof value !== "object") return value;
	if ("$rep" in value) return expand(value.$rep[0]).repeat(value.$rep[1]);
	if ("$cat" in value) return value.$cat.map(expand).join("");
	return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, expand(inside)]));
}
const told = (value) => {
	if (typeof value === "string" && value.length > 120)
		return {
			$str: {
				utf16_length: value.length,
				sha256_utf16le: createHash("sha256").update(Buffer.from(value, "utf16le")).digest("hex"),
			},
		};
	if (Array.isArray(value)) return value.map(told);
	if (!value || typeof value !== "object") return value;
	return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, told(inside)]));
};

const rep = (text, times) => ({ $rep: [text, times] });
const cat = (...pieces) => ({ $cat: pieces });
const text = (said) => ({ type: "text", text: said });
const image = { type: "image", data: "", mimeType: "image/png" };
const user = (...blocks) => ({ role: "user", content: blocks.map((b) => (typeof b === "string" || b.$rep || b.$cat ? text(b) : b)), timestamp: 1 });
const call = (id, name = "bash", args = { command: "ls" }) => ({ type: "toolCall", id, name, arguments: args });
const agent = (...blocks) => ({ role: "assistant", content: blocks.map((b) => (typeof b === "string" || b.$rep || b.$cat ? text(b) : b)), stopReason: "stop", timestamp: 1 });
const result = (id, ...blocks) => ({ role: "toolResult", toolCallId: id, toolName: "bash", content: blocks.map((b) => (typeof b === "string" || b.$rep || b.$cat ? text(b) : b)), isError: false, timestamp: 1 });
const log = (lines) => cat(rep("2026-11-01 10:00:00 worker is busy\n", lines));

// 1. Sizes.
const strings = {
	ascii: "plain words", none: "", accents: "äöü ß é", mixed: "Der Port \u7aef\u53e3 ist 8080 \u3002",
	kana: "\u30dd\u30fc\u30c8\u306f8080", hangul: "\ud3ec\ud2b8", emoji: "ok \u{1f680}\u{1f680}", rare: "\u4db5\u9fa6\ua000", supplementary: "\u{20000}\u{2fa1f}x",
	half: "\uff71\uff72", tones: "\u02c7\u02ca", counting: "\u{1d360}", squared: "\u{1f200}", dot: "a\u00b7b",
};
const said = {
	"a request": user("Where is the port set?"), "two blocks": user("one", "two"), "an image": user("look", image), "only an image": user(image),
	"an answer": agent("I look."), "thinking and a call": agent({ type: "thinking", thinking: "hm hm" }, "now", call("c1", "grep", { pattern: "port", path: "/etc" })),
	"a result": result("c1", "8080"), "a result of two": result("c1", "8080", "8081"), "a result with an image": result("c1", "see", image), "an empty result": result("c1", ""),
	"a wide result": result("c1", "\u7aef\u53e3 8080"), "a long result": result("c1", log(40)),
};
const long = { plain: log(800), failing: cat(log(800), "Traceback: failed"), json: cat("{", rep('"a": 1,\n', 4000), "}"), wide: rep("\u7aef\u53e3\u53f7 ", 3000), oneline: rep("x", 30000), failingline: cat(rep("x", 30000), " error") };
const results = {
	long: result("c1", log(800)), two: result("c1", log(600), log(200)), small: result("c1", "short", log(900)), images: result("c1", image, log(800), image), failing: result("c1", cat(log(500), "exit code 1"), cat(log(700), "done")),
};
const many = (n, lines) => Array.from({ length: n }, (_, i) => [agent(call(`c${i}`)), result(`c${i}`, log(lines + i))]).flat();
const sizes = [];
const size = (name, fn, input, answer) => sizes.push({ name: `${fn}/${name}`, input: { fn, ...input }, output: told(answer(expand(input))) });
for (const [name, value] of Object.entries(strings)) for (const weight of [1, 2])
	size(`${name}/${weight}`, "chars", { text: value, weight }, (g) => own.estimateStringCharsWithMinimumRawWeight(g.text, { minimumRawWeight: g.weight }));
for (const [name, message] of Object.entries(said)) {
	size(name, "tokens", { message }, (g) => own.estimateTokens(g.message));
	size(name, "pressure", { message }, (g) => own.estimateMessageTokenPressure(g.message));
}
for (const window of [1000, 32768, 40000, 80000, 99999, 100000, 128000, 200000, 1000000]) {
	size(window, "cap", { window }, (g) => own.resolveLiveToolResultMaxChars({ contextWindowTokens: g.window }));
	for (const reserve of [0, 16384, 20000, 60000])
		size(`${window}/${reserve}`, "reserve", { window, reserve }, (g) => own.resolveEffectiveCompactionReserveTokens({ contextTokenBudget: g.window, reserveTokens: g.reserve }));
}
for (const [name, value] of Object.entries(long)) for (const most of [0, 60, 2100, 5000, 16000]) for (const least of [0, 2000])
	size(`${name}/${most}/${least}`, "text", { text: value, most, least }, (g) => own.truncateToolResultText(g.text, g.most, { minKeepChars: g.least }));
for (const [name, message] of Object.entries(results)) for (const most of [50, 3000, 16000]) for (const least of [0, 2000])
	size(`${name}/${most}/${least}`, "result", { message, most, least }, (g) => own.truncateToolResultMessage(g.message, g.most, { minKeepChars: g.least }).content);
const crowds = { none: [user("hi")], one: many(1, 900), few: many(3, 300), many: many(12, 400), small: many(20, 60), talk: [user(rep("words ", 20000))] };
for (const [name, messages] of Object.entries(crowds)) for (const window of [2000, 20000, 40000])
	size(`${name}/${window}`, "reducible", { messages: name, window }, (g) => own.estimateToolResultReductionPotential({ messages: expand(messages), contextWindowTokens: g.window }).maxReducibleChars);
for (const value of ["NO_REPLY", "no_reply", " No_Reply \n", "NO_REPLY.", "**NO_REPLY**", "NO_REPLY done", "done NO_REPLY", "", "(no_reply)", "NO"])
	size(value, "silent", { text: value }, (g) => own.isSilentReplyText(g.text));

// 2. The check within a turn.
const routes = [];
for (const [name, messages] of Object.entries(crowds))
	for (const window of [8000, 20000, 40000, 200000]) for (const reserve of [4000, 20000]) {
		const input = { messages: name, system: "You help.", window, reserve };
		const got = own.shouldPreemptivelyCompactBeforePrompt({ messages: expand(messages), systemPrompt: input.system, prompt: "", contextTokenBudget: window, reserveTokens: reserve });
		routes.push({ name: `${name}/${window}/${reserve}`, input, output: { way: got.route, estimated: got.estimatedPromptTokens, budget: got.promptBudgetBeforeReserve, overflow: got.overflowTokens, reducible: got.toolResultReducibleChars } });
	}

// 3. Where a history is cut.
const used = (message, input, output) => ({ ...message, usage: { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output, contextUsage: { state: "available", totalTokens: input + output } } });
const histories = {
	"turns": [user(rep("first ", 400)), agent(rep("answer ", 300)), user(rep("second ", 400)), agent(rep("answer ", 300)), user("third"), agent("done")],
	"a long turn": [user("go"), ...many(6, 60), agent("done")],
	"it ends in results": [user("go"), ...many(3, 60), agent(call("z")), result("z", log(300))],
	"everything fits": [user("hi"), agent("hello")],
	"one request": [user(rep("long ", 3000))],
	"results only at the end": [user("go"), agent(call("a"), call("b")), result("a", log(200)), result("b", log(200))],
	"usage above the estimates": [user(rep("first ", 400)), used(agent(rep("answer ", 300)), 9000, 500), user(rep("second ", 400)), used(agent("done"), 20000, 100)],
	"usage below the estimates": [user(rep("first ", 400)), used(agent(rep("answer ", 300)), 50, 5), user(rep("second ", 400)), used(agent("done"), 90, 5)],
};
const cuts = [];
for (const [name, messages] of Object.entries(histories)) for (const keep of [1, 300, 1000, 4000, 20000]) for (const budget of [null, { maxTokens: 1500, reserveTokens: 400 }, { maxTokens: 40, reserveTokens: 10 }]) {
	const entries = expand(messages).map((message, n) => ({ type: "message", id: `${n}`, parentId: n ? `${n - 1}` : null, timestamp: "2026-11-01T10:00:00.000Z", message }));
	const constraints = budget && { budget: { ...budget, estimateTokens: own.estimateTokens } };
	const got = own.prepareCompaction(entries, { enabled: true, reserveTokens: 1000, keepRecentTokens: keep }, undefined, constraints ?? undefined);
	const output = !got.ok ? "refused" : !got.value ? null : { first: Number(got.value.firstKeptEntryId), history: got.value.messagesToSummarize.length, prefix: got.value.turnPrefixMessages.length, split: got.value.isSplitTurn, before: got.value.tokensBefore };
	cuts.push({ name: `${name}/${keep}/${budget ? budget.maxTokens : "free"}`, input: { messages: name, keep, budget }, output });
}

// 4. Stages.
const places = (all, some) => some.map((message) => all.indexOf(message));
const chats = { ...histories, "two calls in one answer": [user("go"), agent(call("a"), call("b")), result("b", log(40)), result("a", log(90)), agent("on"), user("and"), agent(call("c")), result("c", log(400)), agent("done")], "a result without a call": [user("go"), result("x", log(100)), agent("done"), user("more"), agent(rep("answer ", 900))] };
const stages = [];
for (const [name, messages] of Object.entries(chats)) {
	const all = expand(messages);
	const stage = (fn, input, output) => stages.push({ name: `${fn}/${name}/${Object.values(input).join("/")}`, input: { fn, messages: name, ...input }, output });
	for (const most of [100, 900, 4000]) {
		const plan = own.buildStageSplitPlan({ messages: all, maxChunkTokens: most });
		stage("split", { most }, plan.mode === "single" ? [] : plan.chunks.map((chunk) => places(all, chunk)));
		stage("chunks", { most }, own.buildSummaryChunks({ messages: all, maxChunkTokens: most }).map((chunk) => chunk.length));
	}
	for (const window of [2000, 8000]) {
		const plan = own.buildOversizedFallbackPlan({ messages: all, contextWindow: window });
		stage("oversized", { window }, { small: places(all, plan.smallMessages), notes: plan.oversizedNotes });
		for (const before of [3000, 12000]) {
			const { newContentTokens, maxHistoryTokens, pruned } = own.buildHistoryPrunePlan({ messagesToSummarize: all, turnPrefixMessages: [], tokensBefore: before, contextWindowTokens: window, maxHistoryShare: 0.2, parts: 2 });
			stage("prune", { window, before }, { fresh: newContentTokens, most: maxHistoryTokens, kept: pruned ? pruned.messages.map((m) => all.indexOf(m)) : null, dropped: pruned ? pruned.droppedMessagesList.map((m) => all.indexOf(m)) : null });
		}
	}
}

// 5. The quality of a summary.
const quality = [];
const judge = (fn, name, input, output) => quality.push({ name: `${fn}/${name}`, input: { fn, ...input }, output: told(output) });
const named = {
	paths: "See /etc/app/conf.d/port.ini and C:\\work\\a.txt, not a/b.", urls: "At https://example.org/a?b=1, then (http://example.org).", hosts: "db.internal:5432 and example.org:80.", hashes: "commit deadbeef01 and DEADBEEF01, id 8f14e45fceea167a5a36dedd4bea2543.",
	ids: "order-123456 and ABC_20261101_x, 12345 is short, 1234567 is not.", numbers: "3.14159265 and 1.25e10 and 0.12345678s, 100000000", uuid: "550e8400-e29b-41d4-a716-446655440000", none: "Nothing of the kind.", many: Array.from({ length: 20 }, (_, i) => `id-${100000 + i}`).join(" "), quoted: "`order-654321`, \"/var/log/x.log\"; <https://example.org/x>",
};
for (const [name, value] of Object.entries(named)) judge("identifiers", name, { text: value }, safeguard.extractOpaqueIdentifiers(value));
const headings = ["## Decisions", "## Open TODOs", "## Constraints/Rules", "## Pending user asks", "## Exact identifiers"];
const body = (...contents) => headings.map((heading, n) => `${heading}\n${contents[n] ?? "None."}`).join("\n\n");
const good = body("Port 8080 was chosen.", "Write the test.", "No force push.", "Move the parser to msgspec", "order-123456");
const shared = {
	good, "no heading": "Port 8080 was chosen.", "four headings": good.replace("## Exact identifiers\norder-123456", ""), "asks nothing": body("Port 8080 was chosen.", "None.", "None.", "None.", "order-123456"),
	"no identifier": body("Port 8080.", "None.", "None.", "Move the parser to msgspec", "None."), "long": cat("## Decisions\n", rep("It was decided that. ", 400), "\n\n## Open TODOs\n", rep("To do. ", 300), "\n\n## Constraints/Rules\nNone.\n\n## Pending user asks\nMove the parser to msgspec\n\n## Exact identifiers\norder-123456"),
	"a dump": cat("## Decisions\nPort.\n\n## Open TODOs\nNone.\n\n## Constraints/Rules\nNone.\n\n## Pending user asks\n", rep("ask ", 400), "\n\n## Exact identifiers\n", rep("id-987654\n", 400)), "a preamble": `Here it is.\n\n${good}`,
};
const bodies = expand(shared);
const asks = { parser: "Please move the parser to msgspec", none: null, short: "go on", other: "Rename the settings module and keep the old name" };
for (const [name, summary] of Object.entries(bodies)) for (const [ask, latestAsk] of Object.entries(asks)) {
	const facts = { identifiers: ["order-123456"], latestAsk, identifierPolicy: "strict" };
	judge("audit", `${name}/${ask}`, { summary: name, ...facts }, safeguard.auditSummaryQuality({ summary, structuralSummary: summary, sourceSummaries: [summary], ...facts }).reasons);
	for (const most of [400, 1500, 16000]) for (const suffix of ["", "\n\n## Tool Failures\n- bash: failed"]) {
		const retention = { auditSummary: summary, ...facts, latestAskInRetainedTurn: ask === "short", requiredAskContext: latestAsk ?? "" };
		const got = safeguard.budgetCompactionSummary(summary, suffix, most, retention);
		judge("budget", `${name}/${ask}/${most}/${suffix.length}`, { summary: name, suffix, most, ...facts, inRetained: ask === "short" }, { summary: got.summary, structural: got.structuralSummary, infeasible: got.qualityRetentionInfeasible });
	}
	const open = { ...facts, latestUnresolvedUserRequest: latestAsk ?? "Go on with it" };
	const got = safeguard.budgetCompactionSummary(summary, "", 3000, { auditSummary: summary, ...open, latestAskInRetainedTurn: false, requiredAskContext: latestAsk ?? "" });
	judge("open", `${name}/${ask}`, { summary: name, most: 3000, ...open }, { summary: got.summary, reasons: safeguard.auditSummaryQuality({ summary: got.summary, structuralSummary: got.structuralSummary, sourceSummaries: [summary], ...open }).reasons });
}

const here = join(dirname(fileURLToPath(import.meta.url)), "recorded");
const write = (file, fn, cases, more = {}) => {
	const head = JSON.stringify({ function: fn, package: "openclaw", version: VERSION, ...more }).slice(0, -1);
	writeFileSync(join(here, `openclaw_${file}_${VERSION}.json`), `${head},"cases":[\n${cases.map((one) => JSON.stringify(one)).join(",\n")}\n]}\n`);
};
write("sizes", "OpenClaw's estimates and caps of texts, messages and results", sizes, { conversations: crowds });
write("route", "shouldPreemptivelyCompactBeforePrompt", routes, { conversations: crowds });
write("cut", "prepareCompaction (agent-core)", cuts, { conversations: histories });
write("stages", "buildStageSplitPlan, buildSummaryChunks, buildOversizedFallbackPlan, buildHistoryPrunePlan", stages, { conversations: chats });
write("quality", "extractOpaqueIdentifiers, auditSummaryQuality, budgetCompactionSummary", quality, { summaries: shared });
process.exit(0);
