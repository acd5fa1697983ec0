// Messages of docs/protocol.md as pi has them, and its summaries as parts: for both adapters of pi.

// A message as pi has it: one for each result of a tool. `usage` is that of the call it answers.
export function messagesOf(sent, usage, stopReason = "stop") {
  const timestamp = Math.round((sent.time ?? 0) * 1000);
  const text = sent.parts.filter((p) => p.type === "text" || p.type === "tool_result");
  const shown = text.map((p) => ({ type: "text", text: textOf(p) }));
  const images = sent.parts.filter((p) => p.type === "image").map(() => ({ type: "image", data: "", mimeType: "" }));
  if (sent.role === "user") return [{ role: "user", content: [...shown, ...images], timestamp }];
  if (sent.role === "tool")
    return sent.parts.filter((p) => p.type === "tool_result").map((p) => ({
      role: "toolResult", toolCallId: p.call_id ?? "", toolName: p.name ?? "", isError: !!p.is_error, timestamp,
      content: [{ type: "text", text: textOf(p) }, ...images],
    }));
  const content = sent.parts.map((p) => {
    if (p.type === "thinking") return { type: "thinking", thinking: textOf(p) };
    if (p.type !== "tool_call") return { type: "text", text: p.text };
    return { type: "toolCall", id: p.call_id ?? "", name: p.name ?? "", arguments: parsed(p.text) };
  });
  return [{ role: "assistant", content, timestamp, stopReason, provider: "host", model: "host", usage }];
}

// What nobody has the text of is as long as its tokens say, and is no text for the summariser.
export const FILLER = "\u2800";
const textOf = (part) => part.text || FILLER.repeat(4 * (part.size ?? 0));
export const withoutFiller = (text) => text.replaceAll(FILLER, "");

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { arguments: text };
  }
}

// What the provider reported of the last request.
export const usageOf = (usage) => {
  if (!usage) return undefined;
  const [input, output, cacheRead] = [usage.uncached, usage.output, usage.cache_read];
  const cacheWrite = usage.cache_write_5m + usage.cache_write_1h;
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite };
};

export const whole = (sent) => sent?.parts.map((p) => p.text).join("");

// A text of pi's around and between parts that stand for something.
export function told(text, parts) {
  const all = [];
  for (const part of parts) {
    const place = text.indexOf(part.text);
    if (place < 0) continue;
    if (place > 0) all.push({ text: text.slice(0, place) });
    all.push(part);
    text = text.slice(place + part.text.length);
  }
  return text ? [...all, { text }] : all;
}
