/** What the client of a run is shown of one model answer, while it comes and when it has to be made good. */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  type AIMessage,
  AIMessageChunk,
  type BaseMessage,
  type BaseMessageChunk,
  RemoveMessage,
} from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";

/**
 * Chunks go to the handlers of the model's run, from where LangGraph sends them on its `messages` stream. Clients join
 * them by id and never overwrite. So all chunks of an answer have one id, which no message of the thread has; an answer
 * that continues what was sent brings the rest under that id; any other takes the id back and comes under a new one.
 */
export class ClientStream {
  readonly #run: CallbackManagerForLLMRun | undefined;
  readonly #isTaken: (id: string) => boolean;
  #id: string | undefined;
  #sent: ChatGenerationChunk | undefined;

  constructor(run: CallbackManagerForLLMRun | undefined, isTaken: (id: string) => boolean) {
    this.#run = run;
    this.#isTaken = isTaken;
  }

  /** All that was sent, as one chunk. */
  get sent(): ChatGenerationChunk | undefined {
    return this.#sent;
  }

  async forward(given: ChatGenerationChunk): Promise<void> {
    const chunk = asAnswer(given);
    const { message } = chunk;
    if (this.#sent === undefined) this.#id = this.#freshId(message.id);
    if (this.#id !== undefined) message._updateId(this.#id);
    // As LangChain does it for the chunks that it hands on itself.
    message.response_metadata = { ...chunk.generationInfo, ...message.response_metadata };
    this.#sent = this.#sent === undefined ? chunk : this.#sent.concat(chunk);
    await this.#send(chunk.text, message);
  }

  /** Makes good what was sent, so that the client has the given answer and nothing else. Returns it with its id. */
  async replaceBy(answer: AIMessage): Promise<AIMessageChunk> {
    const sent = this.#sent?.message;
    if (sent !== undefined && isContinuedBy(sent, answer)) {
      const rest = toChunk(answer, this.#id);
      rest.content = answer.text.slice(sent.text.length);
      rest.response_metadata = withoutFields(answer.response_metadata, sent.response_metadata);
      await this.#send(rest.text, rest);
      return toChunk(answer, this.#id);
    }
    // Taken back only now: as long as nothing better is there, the reader keeps what came.
    await this.takeBack();
    this.#id = this.#freshId(answer.id);
    const whole = toChunk(answer, this.#id);
    await this.#send(whole.text, whole);
    return toChunk(answer, this.#id);
  }

  /** Removes what was sent. */
  async takeBack(): Promise<void> {
    if (this.#id !== undefined && this.#sent !== undefined)
      await this.#send("", new RemoveMessage({ id: this.#id }));
  }

  async #send(text: string, message: BaseMessageChunk | RemoveMessage): Promise<void> {
    // The field is typed for chunks; LangGraph passes on any message.
    const chunk = new ChatGenerationChunk({ text, message: message as BaseMessageChunk });
    const place = { prompt: 0, completion: 0 };
    await this.#run?.handleLLMNewToken(text, place, undefined, undefined, undefined, { chunk });
  }

  /** An id that the client has not seen. Some providers repeat theirs, and some give none. */
  #freshId(given: string | undefined): string | undefined {
    // Not the id of the run where another was shown: LangGraph would send it under that one.
    const base = given ?? this.#id ?? (this.#run === undefined ? undefined : `run-${this.#run.runId}`);
    if (base === undefined) return undefined;
    const isSeen = (id: string) => id === this.#id || this.#isTaken(id);
    let id = base;
    for (let count = 2; isSeen(id); count += 1) id = `${base}-${count}`;
    return id;
  }
}

/** OpenAI's client makes a message without a class of its own of a stream whose server leaves out the role. */
function asAnswer(chunk: ChatGenerationChunk): ChatGenerationChunk {
  const { message, text, generationInfo } = chunk;
  if (AIMessageChunk.isInstance(message)) return chunk;
  const { content, id, additional_kwargs, response_metadata } = message;
  const answer = new AIMessageChunk({
    content,
    additional_kwargs,
    response_metadata,
    ...(id !== undefined && { id }),
  });
  return new ChatGenerationChunk({ text, message: answer, ...(generationInfo && { generationInfo }) });
}

/** Whether the answer can be shown as one more chunk of what was sent: pieces of calls and of reasoning cannot grow on. */
function isContinuedBy(sent: BaseMessage, answer: AIMessage): boolean {
  if (typeof sent.content !== "string" || typeof answer.content !== "string") return false;
  const hasCalls = AIMessageChunk.isInstance(sent) && sent.tool_call_chunks?.length !== 0;
  const hasMore = Object.values(sent.additional_kwargs).some((field) => field != null && field !== "");
  return !hasCalls && !hasMore && answer.content.startsWith(sent.content);
}

/** Joining adds texts and numbers up, so what the client has is not sent again. */
function withoutFields(fields: object, known: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(known, name)));
}

/** Without `tool_call_chunks`: they would be parsed anew, and by a lenient parser. */
function toChunk(answer: AIMessage, id: string | undefined): AIMessageChunk {
  const { content, name, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata } = answer;
  const chunk = new AIMessageChunk({
    content,
    additional_kwargs,
    response_metadata,
    tool_calls: tool_calls ?? [],
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    ...(answer.usage_metadata !== undefined && { usage_metadata: answer.usage_metadata }),
  });
  // The constructor empties them.
  chunk.invalid_tool_calls = invalid_tool_calls ?? [];
  return chunk;
}
