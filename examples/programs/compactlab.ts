// The program's side of docs/protocol.md: copy this file, it needs nothing but Node.
//
//   import { serve } from "./compactlab.ts";
//   serve({ name: "keep_last", version: "1" }, (view) => view.ids.slice(-20));
//
// Node 22.18 and later runs TypeScript as it is: node my-compactor.ts
import { createInterface } from "node:readline";

export type Source = string | { id: string; part?: number; start?: number; end?: number };
export interface Part {
  type: "text" | "thinking" | "tool_call" | "tool_result" | "image";
  text: string;
  kind?: string;
  sources?: Source[];
  name?: string; // of a tool
  call_id?: string;
  is_error?: boolean;
  handle?: string; // path of a file
  size?: number;
  tokens?: number;
}

export interface Message {
  id: string;
  role: "user" | "assistant" | "tool";
  parts: Part[];
  meta?: boolean;
  origin?: string;
  tokens?: number;
  time?: number;
}
// What an answer may hold: see "Answer" in docs/protocol.md.
export type Piece = number | (Partial<Part> & { part?: number; start?: number; end?: number });
export type Edit = string | { id?: string; role?: string; parts: Piece[]; origin?: string };
export type Answer = Edit[] | Record<string, unknown> | null | undefined | void;

export interface View {
  id: number;
  phase: string;
  ids: string[];
  messages: Message[]; // those of ids
  system: Part[];
  tokens: number;
  window: number;
  now: number;
  idle: number;
  usage: Record<string, number> | null;
  notes: Record<string, any>;
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function next(): Promise<any> {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
}

// Nothing else may be printed to standard output: notes of your own go to console.error.
function send(line: object): void {
  process.stdout.write(JSON.stringify(line) + "\n");
}

export class Host {
  begin: Record<string, any> = {};
  system: Part[] = [];
  known = new Map<string, Message>();
  async ask(type: string, fields: object): Promise<any> {
    send({ type, ...fields });
    return next();
  }
  count = async (text: string): Promise<number> => (await this.ask("count", { text })).tokens;
  summarize = async (messages: string[], max_tokens: number, more: object = {}): Promise<Part[]> =>
    (await this.ask("summarize", { messages, max_tokens, ...more })).parts;
  turn = async (prompt: string, more: object = {}): Promise<Message[]> =>
    this.learn(await this.ask("turn", { prompt, ...more }));
  read = async (path: string): Promise<string | null> => (await this.ask("read", { path })).text;
  write = async (path: string, text: string): Promise<void> => this.ask("write", { path, text });
  learn(line: { ids: string[]; new: Message[] }): Message[] {
    for (const message of line.new) this.known.set(message.id, message);
    return line.ids.map((id) => this.known.get(id)!);
  }
}

export async function serve(
  hello: { name: string; version: string; [more: string]: unknown },
  compact: (view: View, host: Host) => Answer | Promise<Answer>,
): Promise<void> {
  let host = new Host();
  for (let line = await next(); line; line = await next()) {
    if (line.type === "hello") send({ type: "hello", protocol: 1, ...hello });
    if (line.type === "begin") Object.assign((host = new Host()), { begin: line });
    if (line.type === "view") {
      host.system = line.system ?? host.system;
      const view = { ...line, messages: host.learn(line), system: host.system };
      const answer = await compact(view, host);
      send({ type: "answer", id: line.id, ...(Array.isArray(answer) ? { messages: answer } : answer) });
    }
  }
}
