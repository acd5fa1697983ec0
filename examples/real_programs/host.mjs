// The host's side of docs/protocol.md, for adapters in JavaScript: a line, and a request and its reply.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export const next = async () => {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
};
export const send = (line) => process.stdout.write(JSON.stringify(line) + "\n");
export const ask = async (type, fields) => {
  send({ type, ...fields });
  return next();
};
