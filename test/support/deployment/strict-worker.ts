/**
 * A chat model that calls the tools that the user names, and then answers. It refuses a history as a strict provider
 * does. It keeps nothing, so one instance serves any number of threads.
 */

import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { PlayedModel } from "../models.js";
import { answeredIdOf } from "../strict-check.js";

export interface WorkCall {
  readonly id: string;
  readonly name: string;
  readonly args?: object;
  /** The arguments end in the middle, so the call arrives as an invalid one. */
  readonly isCut?: boolean;
}

const WORK = "Work: ";

/** The text of a user that makes the model call these tools. */
export const workText = (calls: readonly WorkCall[]): string => `${WORK}${JSON.stringify(calls)}`;

export class StrictWorker extends PlayedModel {
  protected override async play(messages: readonly BaseMessage[]): Promise<readonly AIMessageChunk[]> {
    const [refusal] = refusalsOf(messages);
    if (refusal !== undefined) throw new Error(`400 Bad history: ${refusal}`);
    return [respond(messages)];
  }

  /** The clients of providers make a message of its fields. A copied chunk would be stored with all its private ones. */
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const [chunk] = await this.play(messages);
    const { content = "", tool_calls = [], invalid_tool_calls = [] } = chunk ?? {};
    // As ChatOpenAI does it: a call that is not valid is sent from here.
    const raw = invalid_tool_calls.map(({ id = "", name = "", args = "" }) => ({
      id,
      type: "function" as const,
      function: { name, arguments: args },
    }));
    // What a host leaves out, ChatOpenAI makes undefined if it does not stream.
    const additional_kwargs = { function_call: undefined, tool_calls: raw.length > 0 ? raw : undefined };
    const usage_metadata = {
      input_tokens: 1,
      output_tokens: 1,
      total_tokens: 2,
      input_token_details: { audio: undefined, cache_read: undefined },
      output_token_details: { audio: undefined, reasoning: undefined },
    };
    const fields = { content, tool_calls, invalid_tool_calls, additional_kwargs, usage_metadata };
    const message = new AIMessage(fields as never);
    return { generations: [{ text: message.text, message }] };
  }
}

/**
 * Why a provider would refuse the messages. Empty if it would not. The results of a message can stand in any order:
 * LangGraph's delta channel has them in the order in which their tools ended, and no provider minds.
 */
export function refusalsOf(messages: readonly BaseMessage[]): string[] {
  const refusals: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.type === "tool" && index > 0) continue;
    const end = messages.findIndex(({ type }, place) => place > index && type !== "tool");
    const results = messages
      .slice(index + 1, end < 0 ? undefined : end)
      .map(answeredIdOf)
      .sort()
      .join();
    const calls = sentIdsOf(message).sort().join();
    if (message.type === "tool") refusals.push("The list begins with a result.");
    else if (calls !== results)
      refusals.push(`[${index}] calls (${calls}) are followed by results of (${results})`);
  }
  return refusals;
}

/** The ids of the calls that LangChain's clients send: those of `tool_calls`, or else those as the provider wrote them. */
function sentIdsOf(message: BaseMessage): string[] {
  if (!AIMessage.isInstance(message)) return [];
  const { tool_calls = [], additional_kwargs } = message;
  const calls = tool_calls.length > 0 ? tool_calls : (additional_kwargs.tool_calls ?? []);
  return calls.map(({ id = "" }) => id);
}

function respond(messages: readonly BaseMessage[]): AIMessageChunk {
  const asked = messages.findLastIndex(({ type }) => type === "human");
  const text = messages[asked]?.text ?? "";
  const hasWorked = messages.slice(asked + 1).some(({ type }) => type === "tool");
  if (!text.startsWith(WORK) || hasWorked)
    return new AIMessageChunk({ content: `Answer to ${text.slice(0, 20)}` });
  const calls: WorkCall[] = JSON.parse(text.slice(WORK.length));
  return new AIMessageChunk({
    content: "",
    tool_call_chunks: calls.map(({ id, name, args = {}, isCut }, index) => ({
      id,
      name,
      index,
      // A lenient parser completes an object that ends too early.
      args: isCut === true ? '"label: the end is mis' : JSON.stringify(args),
      type: "tool_call_chunk",
    })),
  });
}
