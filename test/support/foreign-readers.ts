/** What reads foreign text, from the outside: each function of the entries, a graph, the doctor, the inspector, the server. */

import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { z } from "zod";
import { connectMcpServers } from "../../server/mcp.js";
import { QUESTIONS } from "../../server/offline/questions.js";
import { createCalculatorTool } from "../../server/tools/calculator.js";
import { parseThreads } from "../../src/doctor/targets/file-target.js";
import { reasonOf } from "../../src/doctor/targets/target.js";
import { threadOfList } from "../../src/doctor/thread-store.js";
import {
  diagnoseThread,
  explain,
  planRepair,
  type StoredThread,
  type ThreadStore,
} from "../../src/doctor.js";
import { findSafeCutoff, validateHistory } from "../../src/history.js";
import {
  type AgentGraphOptions,
  createAgentGraph,
  explainInput,
  messageSerializer,
  pairedMessagesReducer,
  providerStrategy,
  repairHistory,
  toModelInput,
} from "../../src/index.js";
import { createInspector } from "../../src/inspector.js";
import { createRedact } from "../../src/providers/failure/redact.js";
import { OfflineChatModel } from "../../src/providers/offline/offline-chat-model.js";
import { DIALECT_NAMES } from "../../src/providers/table/dialects.js";
import { historyOf } from "./foreign-texts.js";
import { calls, FunctionModel, type WantedCall } from "./models.js";
import { user } from "./thread.js";
import { makeTool } from "./tools.js";

/** What an entry does with a text. What it throws is an answer too. */
export type Reader = (text: string) => unknown;

const FORMAT = providerStrategy(z.looseObject({}).meta({ title: "Any" }));

export const READERS: Readonly<Record<string, Reader>> = {
  ...Object.fromEntries(
    DIALECT_NAMES.map((dialect): [string, Reader] => [
      `toModelInput for ${dialect}`,
      (text) => toModelInput(historyOf(text), { dialect, systemPrompt: text }),
    ]),
  ),
  "toModelInput with a limit": (text) => toModelInput(historyOf(text, 2), { maxTokens: 10 }),
  explainInput: (text) => explainInput(historyOf(text), { dialect: "strict" }),
  validateHistory: (text) => validateHistory(historyOf(text), "strict"),
  repairHistory: (text) => repairHistory(historyOf(text)),
  pairedMessagesReducer: (text) => pairedMessagesReducer(historyOf(text), historyOf(text, 2)),
  findSafeCutoff: (text) => findSafeCutoff(historyOf(text, 2), { tokens: 10 }),
  "the offline model": (text) => run("offline:", text),
  "the served offline model": (text) => run(new OfflineChatModel({ language: QUESTIONS }), text),
  "the offline model as a summariser": (text) => run("offline:", `Write a summary: ${text}`),
  "a response": (text) => run(answering(text), "Hello."),
  "calls of a response": (text) => run(calling([text, { [text]: text }, text], ["look", {}]), text),
  "a structured response": (text) => run(answering(text), "Hello.", { responseFormat: FORMAT }),
  "a structured response in a block": (text) =>
    run(answering(`\`\`\`json\n${text}\n\`\`\`.`), "Hello.", { responseFormat: FORMAT }),
  "a summary": (text) => run(answering(text), text, { maxTokensBeforeSummary: 10, messagesToKeep: 1 }),
  "an error of a tool": (text) => run(calling(["fail", { text }]), "Hello."),
  "an error of a model": (text) => run(failing(text), "Hello."),
  "a thread": (text) => diagnoseThread(threadOf(text)),
  "an explained thread": (text) => explain(historyOf(text), { dialect: "strict" }),
  "the plan of a repair": (text) => planRepair(threadOf(text)),
  "an error of a store": (text) => reasonOf(new Error(text)),
  "a file that is not JSON": (text) => parseThreads(`{"messages": [${text}`, "a file"),
  "a file of lines": (text) => parseThreads(`[]\n${text}`, "a file"),
  "a page of a thread": (text) => open("/tether/list", text),
  "the list of threads": (text) => open(`/tether?q=${inAddress(text)}`, text),
  "the address of a page": (text) => open(`/tether/${inAddress(text)}`, "Hello."),
  "a stored thread": async (text) => {
    const serde = messageSerializer();
    await serde.loadsTyped(...(await serde.dumpsTyped(historyOf(text))));
  },
  "a file of MCP servers": (text) => {
    const file = join(tmpdir(), `mcp-of-${process.pid}.json`);
    writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: text, disabled: true } } }));
    try {
      connectMcpServers({ MCP_SERVERS: file, a: "value" }, () => {});
    } finally {
      rmSync(file);
    }
  },
  "the calculator": (text) => createCalculatorTool().invoke({ input: text }),
  "redaction of keys": (text) => createRedact({ apiKey: "a=b", headers: { x: "{{{{" } })(text),
};

const answering = (text: string) => new FunctionModel(() => new AIMessage(text));
const calling = (...wanted: readonly WantedCall[]) =>
  new FunctionModel(({ index }) => (index > 0 ? "Done." : calls(...wanted)));
const failing = (text: string) =>
  new FunctionModel(() => Object.assign(new Error(`400 ${text}`), { status: 400, error: { message: text } }));

const TOOLS = [
  makeTool("look", () => "seen", z.object({}).loose() as never),
  makeTool(
    "fail",
    ({ text }) => {
      throw new Error(String(text));
    },
    z.object({ text: z.string() }),
  ),
];

function run(model: AgentGraphOptions["model"], text: string, options: Partial<AgentGraphOptions> = {}) {
  const graph = createAgentGraph({ model, tools: TOOLS, includeDetailedErrors: true, ...options } as never);
  return graph.invoke(user(text));
}

function threadOf(text: string): StoredThread {
  return { ...threadOfList(historyOf(text)), checkpointId: "1", openTasks: [] };
}

async function open(path: string, text: string): Promise<void> {
  const thread = threadOf(text);
  const store = {
    target: "test",
    canWrite: false,
    threads: async function* () {
      yield { threadId: "list", namespace: "" };
    },
    recent: async () => [{ threadId: "list", metadata: { title: text } }],
    read: async () => thread,
    write: async () => ({ kind: "moved" }),
    close: async () => {},
  } as unknown as ThreadStore;
  const inspector = createInspector({ threads: () => store, isProtected: true });
  await (await inspector(new Request(`http://localhost${path}`))).text();
}

function inAddress(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, "?")).slice(0, 2_000);
}
