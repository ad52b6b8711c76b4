/** A thread whose process can die at every operation of a run: a write to the saver, a tool, a model call, a chunk. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, type BaseStore, Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type Answer, FunctionModel } from "./models.js";
import { callIdsOf } from "./strict-check.js";
import { messagesOf, user } from "./thread.js";

export const DURABILITIES = ["async", "sync", "exit"] as const;

export type Durability = (typeof DURABILITIES)[number];

/** One run: a message of the user, or null to continue. It dies at an operation; undefined: it lives. */
export interface CrashingRun {
  readonly text: string | null;
  readonly diesAt?: number | undefined;
}

/** What each response costs. */
export const USAGE = { input_tokens: 90, output_tokens: 10, total_tokens: 100 };

const costing = (response: string | AIMessage) =>
  Object.assign(typeof response === "string" ? new AIMessage(response) : response, { usage_metadata: USAGE });

const config = { configurable: { thread_id: "1" } };

/** The agents whose threads can die. */
const AGENTS = {
  createAgentGraph: createAgentGraph as (options: AgentOptions) => ReturnType<typeof createAgentGraph>,
  "createAgent with tetherMiddleware": (options: AgentOptions) =>
    createAgent({ ...options, middleware: [tetherMiddleware()] }).graph as unknown as ReturnType<
      typeof createAgentGraph
    >,
};

export type Agent = keyof typeof AGENTS;

export const AGENT_NAMES = Object.keys(AGENTS) as readonly Agent[];

interface AgentOptions {
  readonly model: FunctionModel;
  readonly tools: ReturnType<typeof noting>[];
  readonly checkpointer: BaseCheckpointSaver;
}

export function crashingThread(
  durability: Durability,
  saver: BaseCheckpointSaver = new MemorySaver(),
  agent: Agent = "createAgentGraph",
) {
  const create = AGENTS[agent];
  const refused: string[] = [];
  /** The messages of each request to the model, in order. */
  const requests: (readonly BaseMessage[])[] = [];
  /** The calls whose tools have begun, by the label of the call. */
  const begun: string[] = [];

  const send = async ({
    text,
    diesAt = Number.POSITIVE_INFINITY,
  }: CrashingRun): Promise<"died" | "lived"> => {
    let operations = 0;
    const live = (): void => {
      operations += 1;
      if (operations >= diesAt) throw new Error("The process has died.");
    };
    const model = new MortalModel(live, ({ messages }) => costing(respond(messages)));
    const tools = ["note", SAFE].map((name) => noting(name, live, begun));
    const graph = create({ model, tools, checkpointer: dying(saver, ["put", "putWrites"], live) });
    try {
      await graph.invoke(text === null ? null : user(text), { ...config, durability });
    } catch (error) {
      if (operations < diesAt) throw error;
    }
    refused.push(...model.refused);
    requests.push(...model.requests.map(({ messages }) => messages));
    return operations < diesAt ? "lived" : "died";
  };
  const reader = create({ model: new FunctionModel(() => ""), tools: [], checkpointer: saver });
  /** What a client reads. */
  const read = async (): Promise<BaseMessage[]> => {
    const { values } = await reader.getState(config);
    return values.messages === undefined ? [] : messagesOf(values);
  };
  /** What the counters of the thread say. */
  const usage = async (): Promise<unknown> =>
    (await saver.getTuple(config))?.checkpoint.channel_values["threadUsage"];
  return { send, read, usage, refused, requests, begun, reader };
}

/** A service whose process can die before and after each of these uses. */
export function dying<Service extends BaseCheckpointSaver | BaseStore>(
  service: Service,
  uses: readonly string[],
  live: () => void,
): Service {
  return new Proxy(service, {
    get(target, name, proxy) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      // The methods of a store use its `batch`.
      if (!uses.includes(String(name))) return value.bind(uses.includes("batch") ? proxy : target);
      return async (...given: unknown[]) => {
        live();
        const result: unknown = await Reflect.apply(value, target, given);
        live();
        return result;
      };
    },
  });
}

/** The process can die before a request and at each chunk of its response. */
export class MortalModel extends FunctionModel {
  readonly #live: () => void;

  constructor(live: () => void, answer: Answer) {
    super((request) => {
      live();
      return answer(request);
    });
    this.#live = live;
  }

  override async *_streamResponseChunks(
    ...given: Parameters<FunctionModel["_streamResponseChunks"]>
  ): ReturnType<FunctionModel["_streamResponseChunks"]> {
    for await (const chunk of super._streamResponseChunks(...given)) {
      this.#live();
      yield chunk;
    }
  }
}

/** The tool whose calls may be run again. */
const SAFE = "safe_note";

/** The label of the call of a turn that may be run again. */
export const SAFE_LABEL = "2";

/** A tool that also writes a note, so that its result is not the only message that it leaves. */
function noting(name: string, live: () => void, begun: string[]) {
  return tool(
    async ({ label }: { label: string }, { toolCallId }: ToolRuntime) => {
      live();
      begun.push(label);
      await Promise.resolve();
      live();
      const result = new ToolMessage({ content: `result ${label}`, tool_call_id: toolCallId });
      return new Command({ update: { messages: [result, new HumanMessage(`NOTE ${label}`)] } });
    },
    {
      name,
      description: "Writes a note.",
      schema: z.object({ label: z.string() }),
      ...(name === SAFE && { metadata: { replay: "safe" } }),
    },
  );
}

/** Two rounds of calls for a request that begins with `work`, and a text for every other. */
function respond(messages: readonly BaseMessage[]): string | AIMessage {
  const start = messages.findLastIndex(
    (message) => message.type === "human" && requestOf(message) !== undefined,
  );
  const request = requestOf(messages[start]) ?? "nothing";
  // The model input can have other responses, between a result and a message of the user.
  const rounds = messages.slice(start).filter((message) => callIdsOf(message).length > 0).length;
  if (!request.startsWith("work") || rounds >= 2) return `answer to ${request}`;
  const labels = rounds === 0 ? ["1", "2", "3"] : ["4"];
  return new AIMessage({
    content: "",
    tool_calls: labels.map((label) => ({
      id: `${request}-${label}`,
      name: label === SAFE_LABEL ? SAFE : "note",
      args: { label: `${request}-${label}` },
    })),
  });
}

/** The last request in a message. The model input joins messages of the user that follow one another. */
function requestOf(message: BaseMessage | undefined): string | undefined {
  return message?.text.split("\n").findLast((line) => line !== "" && !line.startsWith("NOTE"));
}
