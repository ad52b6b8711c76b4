/**
 * A thread of agent-chat-ui, whose SDK is 1.8: the requests that it sends, equal to the byte except for ids, and the
 * messages that it shows. It reads the history of states of a thread, never the current state.
 */

import { randomUUID } from "node:crypto";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import type { Message, ThreadState } from "@langchain/langgraph-sdk";
import type { ApprovalRequest } from "../../../src/index.js";

type State = ThreadState<{ messages?: Message[] }>;

/** A part of a run's stream. */
export interface Part {
  readonly event: string;
  readonly data: unknown;
}

/** The run options for a message of the user. */
const SUBMIT = {
  stream_mode: ["values", "messages-tuple", "custom"],
  stream_subgraphs: true,
  stream_resumable: true,
  on_disconnect: "continue",
} as const;
/** The run options for a decision about an interrupt. */
const RESUME = {
  input: {},
  stream_mode: ["messages-tuple", "values", "custom"],
  stream_resumable: false,
  on_disconnect: "cancel",
} as const;

export class AgentChatUi {
  readonly url: string;
  readonly graph: string;
  readonly threadId: string;
  /** All parts of the streams of its runs. */
  readonly parts: Part[] = [];

  constructor(url: string, graph: string, threadId: string) {
    this.url = url;
    this.graph = graph;
    this.threadId = threadId;
  }

  /** The latest states of the thread, the newest first. */
  async history(): Promise<State[]> {
    const response = await this.#post("history", { limit: 10 });
    return (await response.json()) as State[];
  }

  /** The messages that it shows. */
  async shown(): Promise<BaseMessage[]> {
    const [head] = await this.history();
    return stateMessagesOf(head)
      .filter(({ id }) => id?.startsWith("do-not-render-") !== true)
      .map((message) => coerceMessageLikeToMessage(message as never));
  }

  /** The questions that wait in the thread. */
  async questions(): Promise<ApprovalRequest[]> {
    const [head] = await this.history();
    const interrupts = head?.tasks.flatMap((task) => task.interrupts) ?? [];
    return interrupts.flatMap(({ value }) => (value as ApprovalRequest | undefined) ?? []);
  }

  /** The user writes a message. @returns the id of the run, which has ended. */
  async send(text: string, onPart?: (part: Part, runId: string) => Promise<void>): Promise<string> {
    const [head] = await this.history();
    const human = { id: randomUUID(), type: "human", content: [{ type: "text", text }] };
    const messages = [...madeUpResults(stateMessagesOf(head)), human];
    return this.#stream({ input: { messages }, ...SUBMIT, ...at(head?.checkpoint) }, onPart);
  }

  /** The user decides about the calls that wait for approval. */
  async decide(...decisions: readonly object[]): Promise<void> {
    await (await this.look())(...decisions);
  }

  /** The page as it is now, which may be old when the user decides. It names the checkpoint that it shows. */
  async look(): Promise<(...decisions: readonly object[]) => Promise<string>> {
    const [head] = await this.history();
    return (...decisions) =>
      this.#stream({ ...RESUME, command: { resume: { decisions } }, ...at(head?.checkpoint) });
  }

  async markAsResolved(): Promise<void> {
    const [head] = await this.history();
    await this.#stream({ ...RESUME, command: { goto: "__end__" }, ...at(head?.checkpoint) });
  }

  /** The user asks for another response in place of this message. */
  async regenerate(messageId: string): Promise<void> {
    await this.#stream({ ...SUBMIT, ...at(await this.#parentOf(messageId)) });
  }

  /** The user edits this message. */
  async edit(messageId: string, content: string): Promise<void> {
    const input = { messages: [{ type: "human", content }] };
    await this.#stream({ input, ...SUBMIT, ...at(await this.#parentOf(messageId)) });
  }

  /** The state before the first one that has the message. */
  async #parentOf(messageId: string): Promise<State["parent_checkpoint"]> {
    const states = await this.history();
    const first = states.findLast((state) => stateMessagesOf(state).some(({ id }) => id === messageId));
    return first?.parent_checkpoint;
  }

  async #stream(
    body: object,
    onPart: (part: Part, runId: string) => Promise<void> = async () => {},
  ): Promise<string> {
    const response = await this.#post("runs/stream", { ...body, assistant_id: this.graph });
    const runId = response.headers.get("content-location")?.split("/").at(-1) ?? "";
    for await (const part of partsOf(response)) {
      this.parts.push(part);
      await onPart(part, runId);
    }
    return runId;
  }

  async #post(path: string, body: object): Promise<Response> {
    const response = await fetch(`${this.url}/threads/${this.threadId}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response;
  }
}

function at(checkpoint: State["checkpoint"] | undefined | null): object {
  if (checkpoint === undefined || checkpoint === null) return {};
  const { checkpoint_id, checkpoint_ns, checkpoint_map = null } = checkpoint;
  return { checkpoint: { checkpoint_id, checkpoint_ns, checkpoint_map } };
}

function stateMessagesOf(state: State | undefined): Message[] {
  return state?.values.messages ?? [];
}

/** Its `ensureToolCallsHaveResponses`. */
function madeUpResults(messages: readonly Message[]): object[] {
  return messages.flatMap((message, index) => {
    if (message.type !== "ai" || messages[index + 1]?.type === "tool") return [];
    return (message.tool_calls ?? []).map(({ id = "", name }) => ({
      type: "tool",
      tool_call_id: id,
      id: `do-not-render-${randomUUID()}`,
      name,
      content: "Successfully handled tool call.",
    }));
  });
}

async function* partsOf(response: Response): AsyncGenerator<Part> {
  let rest = "";
  for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = /^event: ?(.*)$/m.exec(block)?.[1];
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}
