/** An agent with a scripted model and one thread, which is read as lines. */

import { interrupt, MemorySaver } from "@langchain/langgraph";
import { type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { openThread } from "./open-thread.js";
import { type Step, scripted } from "./scripted-model.js";
import { inThread, messagesOf, pairedMessagesOf, script, user } from "./thread.js";
import { createProbe, makeTool } from "./tools.js";

/** Asks a human by calling `interrupt` itself. */
export const ask = makeTool("ask", async () => `answered ${interrupt("may I?")}`);

type Tools = NonNullable<AgentGraphOptions["tools"]>;

export interface ThreadOptions extends Omit<Partial<AgentGraphOptions>, "tools"> {
  /** @default `fast` and `failing` of the probe, and `ask` */
  readonly tools?: Tools | ((probe: ReturnType<typeof createProbe>) => Tools) | undefined;
}

export function agentThread(
  steps: readonly Step[],
  { tools = ({ fast, failing }) => [fast, failing, ask], ...options }: ThreadOptions = {},
) {
  const probe = createProbe();
  const model = scripted(...steps);
  const given = typeof tools === "function" ? tools(probe) : tools;
  const graph = createAgentGraph({ model, tools: given, checkpointer: new MemorySaver(), ...options });
  const config = inThread("1");
  const state = async () => graph.getState(config);
  const messages = async () => messagesOf((await state()).values);
  /** One run. A text is a message of the user. */
  const invoke = (input: unknown = "go", more: object = {}): Promise<Record<string, unknown>> =>
    graph.invoke((typeof input === "string" ? user(input) : input) as null, { ...config, ...more });
  return {
    graph,
    model,
    config,
    state,
    messages,
    invoke,
    probe,
    runs: probe.runs,
    /** The lines of the thread, in which no call waits. */
    lines: async () => script(pairedMessagesOf((await state()).values)),
    /** The same of a thread in which a call can wait. */
    openLines: async () => script(await messages()),
    /** One run of a thread in which no call waits then, and what it returns as lines. */
    pairedRun: async (...run: Parameters<typeof invoke>) => script(pairedMessagesOf(await invoke(...run))),
    /** One run, and what it returns as lines. A call can wait. */
    run: async (...run: Parameters<typeof invoke>) => script(messagesOf(await invoke(...run))),
    /** One run, as a client sees it that reads only the stream. */
    send: openThread(graph).send,
    /** What the model was told about tools, request by request. */
    choices: () => model.requests.map(({ toolChoice }) => toolChoice),
  };
}
