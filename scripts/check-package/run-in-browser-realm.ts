import { createContext, runInContext } from "node:vm";
import { BrokenDoorError } from "./broken-door-error.js";

/** The globals that browsers and edge workers have beside those of the language. */
const WEB_GLOBALS = {
  AbortController,
  AbortSignal,
  atob,
  btoa,
  clearTimeout,
  console,
  crypto: globalThis.crypto,
  Event,
  EventTarget,
  fetch,
  Headers,
  performance,
  queueMicrotask,
  ReadableStream,
  Request,
  Response,
  setTimeout,
  structuredClone,
  TextDecoder,
  TextEncoder,
  TransformStream,
  URL,
  URLSearchParams,
  WritableStream,
};

const PROGRAM = `
const { AIMessage, HumanMessage, repairHistory, toModelInput, validateHistory } = bundle;
const call = { id: "call_1", name: "weather", args: {} };
const picture = { type: "image", mimeType: "image/png", data: new Uint8Array([1, 2, 3]) };
const messages = [
  new HumanMessage({ content: [picture] }),
  new AIMessage({ content: "", tool_calls: [call] }),
  new HumanMessage("Hello?"),
];
const sent = toModelInput(repairHistory(messages).messages, { dialect: "openai" });
[messages, sent].map((history) => validateHistory(history, "openai").length).join(" ");
`;

/** Runs a bundle of the history entry without any of Node's globals. */
export function runInBrowserRealm(bundle: string): void {
  const context = createContext(WEB_GLOBALS);
  let found: unknown;
  try {
    runInContext(bundle, context);
    found = runInContext(PROGRAM, context);
  } catch (error) {
    throw new BrokenDoorError(`it does not run without Node's globals: ${error}`);
  }
  if (found !== "2 0") throw new BrokenDoorError(`it should find and repair 2 faults, but it found ${found}`);
}
