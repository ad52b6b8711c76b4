/** One thread of the served graph, used only through the SDK's client. */

import type { Client, Message } from "@langchain/langgraph-sdk";
import { CheckError, checkPairs } from "./check-pairs.js";
import { type ComparedMessage, compareThreads } from "./compare-threads.js";
import { placeholderCauseOf } from "./describe.js";
import type { Page } from "./page.js";
import { RUN_STREAM_MODES, type RunPart, RunPrinter } from "./run-printer.js";
import { threadLine } from "./thread-line.js";

const GRAPH = "agent";

export class Conversation {
  readonly #client: Client;
  readonly #threadId: string;
  readonly #page: Page;
  readonly #printer: RunPrinter;
  /** The ids of calls whose result was recovered, and of calls that have had a placeholder. */
  readonly #recovered = new Set<string>();
  readonly #placeheld = new Set<string>();
  #shown: readonly Message[] = [];

  private constructor(client: Client, threadId: string, page: Page) {
    this.#client = client;
    this.#threadId = threadId;
    this.#page = page;
    this.#printer = new RunPrinter(page);
  }

  static async start(client: Client, page: Page): Promise<Conversation> {
    const { thread_id } = await client.threads.create();
    return new Conversation(client, thread_id, page);
  }

  /**
   * Sends a message and prints what the run does.
   *
   * @param onPart Called after each part, with a function that cancels the run.
   * @throws CheckError if the run fails for another reason than being cancelled.
   */
  async say(
    text: string,
    onPart?: (part: RunPart, cancel: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    this.#page.line(`${this.#page.style("bold", "you ▸")} ${text}`);
    let runId = "";
    let isCancelled = false;
    const cancel = async () => {
      isCancelled = true;
      await this.#client.runs.cancel(this.#threadId, runId, true);
    };
    const parts = this.#client.runs.stream(this.#threadId, GRAPH, {
      input: { messages: [{ role: "user", content: text }] },
      streamMode: [...RUN_STREAM_MODES],
      onRunCreated: (run) => {
        runId = run.run_id;
      },
    });
    for await (const part of parts) {
      const error = this.#printer.print(part);
      if (error !== undefined && !isCancelled) throw new CheckError(`The run failed: ${error}`);
      if (part.event === "custom") this.#remember(part.data);
      await onPart?.(part, cancel);
    }
  }

  async readMessages(): Promise<Message[]> {
    const state = await this.#client.threads.getState<{ messages: Message[] }>(this.#threadId);
    return state.values.messages;
  }

  /** Writes to the thread outside any run. */
  async update(message: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#client.threads.updateState(this.#threadId, { values: { messages: [message] } });
  }

  /** Prints the changes since the thread was last shown, and checks its pairs. */
  async show(): Promise<Message[]> {
    const messages = await this.readMessages();
    const { style, line } = this.#page;
    line();
    line(style("dim", "Changes of the thread (+ new, - gone):"));
    const compared = compareThreads(this.#shown, messages);
    // The run has already printed the messages that it added at the end.
    const end = compared.findLastIndex(({ kind }) => kind === "kept") + 1 || compared.length;
    for (const change of compared.slice(0, end)) {
      if (change.kind !== "kept") line(this.#describe(change));
    }
    if (end < compared.length) line(style("dim", `+ ${compared.length - end} messages of the new turn`));
    for (const message of messages) {
      if (message.type === "tool" && placeholderCauseOf(message) !== undefined) {
        this.#placeheld.add(message.tool_call_id);
      }
    }
    this.#shown = messages;
    const { groups, calls } = checkPairs(messages);
    const count = `${calls} calls in ${groups} ${groups === 1 ? "group" : "groups"}`;
    line(style("green", `✓ checked: ${count}, each with exactly one result right after it, in order`));
    return messages;
  }

  #describe({ kind, message, number }: ComparedMessage): string {
    const { style, width } = this.#page;
    const sign = kind === "removed" ? style("red", "-") : style("green", "+");
    const remarkOn = kind === "removed" ? () => undefined : (result: Message) => this.#remarkOn(result);
    return sign + threadLine(message, number, { style, width: width - 1, remarkOn });
  }

  #remarkOn(message: Message): string | undefined {
    if (message.type !== "tool" || placeholderCauseOf(message) !== undefined) return undefined;
    if (this.#placeheld.has(message.tool_call_id)) return "late";
    return this.#recovered.has(message.tool_call_id) ? "recovered" : undefined;
  }

  #remember(event: unknown): void {
    const { type, callId } = Object(event);
    if (type === "result-recovered") this.#recovered.add(callId);
  }
}
