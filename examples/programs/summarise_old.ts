// A compactor in TypeScript, written from docs/protocol.md.
//
// Above 50 % of the window, old results of tools give way to a line. If that is not enough, all
// turns but the newest are summarised, and the summary before is carried on.
//
//   compactlab check-program 'node examples/programs/summarise_old.ts'

import { type Answer, type Edit, type Host, type Message, type View, serve } from "./compactlab.ts";

const TRIGGER = 0.5;
const LEAST = 100; // tokens of a result from which on it is cleared
const CLEARED = "[This result was cleared to save room. Call the tool again if it is needed.]";

function isResult(message: Message): boolean {
  return message.role === "tool" && (message.tokens ?? 0) >= LEAST && message.parts[0].kind !== "stub";
}

function cleared(message: Message): Edit {
  // A result keeps its call; what came with it (images) goes.
  return { id: message.id, parts: [{ part: 0, text: CLEARED }] };
}

async function compact(view: View, host: Host): Promise<Answer> {
  const limit = view.window * TRIGGER;
  if (view.tokens <= limit) return null;

  // A turn begins where a person speaks.
  const turns = view.messages.flatMap((m, n) => (m.role === "user" && !m.meta ? [n] : []));
  const newest = turns.at(-1) ?? 0;
  const old = view.messages.slice(0, newest);
  const saved = old.filter(isResult).reduce((sum, message) => sum + (message.tokens ?? 0), 0);
  if (saved && view.tokens - saved <= limit) {
    return view.messages.map((m, n) => (n < newest && isResult(m) ? cleared(m) : m.id));
  }

  const said = old.filter((message) => message.origin !== "summary");
  if (!said.length) return null;
  const size = old.reduce((sum, message) => sum + (message.tokens ?? 0), 0);
  const parts = await host.summarize(
    said.map((message) => message.id),
    Math.max(1, Math.min(2000, Math.floor(size / 2))),
    { previous: old.filter((message) => message.origin === "summary").map((message) => message.id) },
  );
  if (!parts.length) return null;
  return {
    messages: [{ role: "user", parts, origin: "summary" }, ...view.ids.slice(newest)],
    notes: { summaries: (view.notes.summaries ?? 0) + 1 },
  };
}

await serve(
  { name: "summarise_old", version: "1", phases: ["before_turn", "before_call"], does: ["clear", "summarise"] },
  compact,
);
