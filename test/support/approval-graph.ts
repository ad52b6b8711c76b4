/** A graph whose tool `risky` needs approval and whose tool `free` does not, with one thread and a log of its calls. */

import type { AIMessage } from "@langchain/core/messages";
import { Command, type Interrupt, interrupt, MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import {
  type AgentGraph,
  type AgentGraphOptions,
  type ApprovalRequest,
  createAgentGraph,
} from "../../src/index.js";
import { scripted } from "./scripted-model.js";
import { messagesOf, pairedScript, script } from "./thread.js";
import { makeTool } from "./tools.js";

export const approve = { type: "approve" };
export const reject = (message?: string) => ({ type: "reject", ...(message !== undefined && { message }) });
export const respond = (message: string) => ({ type: "respond", message });
export const edit = (args: object, name = "risky") => ({ type: "edit", edited_action: { name, args } });

const schema = z.object({ label: z.string() });

/** Tools that log each of their runs as `name:label`. */
export function countingTools() {
  const runs: string[] = [];
  const make = (name: string) =>
    makeTool(
      name,
      async ({ label }: z.infer<typeof schema>) => {
        runs.push(`${name}:${label}`);
        return `${name} did ${label}`;
      },
      schema,
    );
  /** Asks a human by calling `interrupt` itself. */
  const ask = makeTool("ask", async () => `a human said ${JSON.stringify(interrupt("may I?"))}`);
  return { runs, tools: [make("free"), make("risky"), ask] };
}

/** What a client sends in place of a message. */
export function asInput(command: ConstructorParameters<typeof Command>[0]) {
  return new Command(command) as unknown as null;
}

/** The result of a run: its questions and its messages. */
export function questionsOf(values: unknown): ApprovalRequest[] {
  const { __interrupt__ = [] } = Object(values) as { __interrupt__?: Interrupt<ApprovalRequest>[] };
  return __interrupt__.flatMap(({ value }) => value ?? []);
}

/** The labels of the calls that the question is about. */
export function askedLabels(values: unknown): unknown[] {
  return questionsOf(values).flatMap(({ action_requests }) =>
    (action_requests ?? []).map(({ args }) => args["label"]),
  );
}

export type Driver = "invoke" | "stream";

export class ApprovalThread {
  readonly runs: string[];
  readonly graph: AgentGraph;
  readonly config: { readonly configurable: { readonly thread_id: string } };
  readonly #driver: Driver;

  constructor(graph: AgentGraph, runs: string[], driver: Driver = "invoke", id = "1") {
    this.graph = graph;
    this.runs = runs;
    this.config = { configurable: { thread_id: id } };
    this.#driver = driver;
  }

  /** The last values of a run, with its questions. */
  async run(input: unknown, options: object = {}): Promise<unknown> {
    const config = { ...this.config, ...options };
    if (this.#driver === "invoke") return this.graph.invoke(input as null, config);
    let last: object = {};
    for await (const values of await this.graph.stream(input as null, { ...config, streamMode: "values" })) {
      last = { ...last, ...(values as object) };
    }
    return last;
  }

  say(text: string, options: object = {}): Promise<unknown> {
    return this.run({ messages: [{ role: "user", content: text }] }, options);
  }

  resume(resume: unknown, options: object = {}): Promise<unknown> {
    return this.run(asInput({ resume }), options);
  }

  /** Answers the question that waits, by its id. */
  async decide(...decisions: readonly unknown[]): Promise<unknown> {
    const [id] = await this.questions();
    return this.resume(id === undefined ? { decisions } : { [id]: { decisions } });
  }

  async messages() {
    return messagesOf((await this.graph.getState(this.config)).values);
  }

  /** The thread as lines, from the first response on. */
  async script(): Promise<string[]> {
    return script(await this.messages()).slice(1);
  }

  /** The same for a thread in which no call waits. */
  async pairedScript(): Promise<string[]> {
    return pairedScript((await this.graph.getState(this.config)).values).slice(1);
  }

  /** The ids of the questions that wait. */
  async questions(): Promise<string[]> {
    const { tasks } = await this.graph.getState(this.config);
    return tasks.flatMap(({ interrupts }) => interrupts).map(({ id = "" }) => id);
  }

  /** The number of questions that wait. */
  async waiting(): Promise<number> {
    return (await this.questions()).length;
  }
}

/** A thread whose model gives these responses, one after the other. */
export function approvalThread(
  answers: readonly (AIMessage | string)[],
  options: Partial<AgentGraphOptions> = {},
  driver: Driver = "invoke",
): ApprovalThread {
  const { runs, tools } = countingTools();
  const graph = createAgentGraph({
    model: scripted(...answers),
    tools,
    requireApproval: ["risky"],
    checkpointer: new MemorySaver(),
    ...options,
  });
  return new ApprovalThread(graph, runs, driver);
}
