/**
 * Results' pictures and files, for a provider whose results hold only texts. They go into a user message after all of
 * the batch's results, because nothing may stand between these. A mark tells it from the user's own messages. Its place
 * and content never change, so a prompt cache stays valid.
 *
 * Other programs do the same: https://github.com/Shishir435/ollama-client/pull/149,
 * https://github.com/LibreChat-AI/agents/issues/344.
 */

import {
  type BaseMessage,
  HumanMessage,
  type MessageContent,
  type ToolMessage,
} from "@langchain/core/messages";
import { describeBlock } from "../../history/describe-block.js";
import { MARKS, SUMMARY_SOURCE } from "../../history/marks.js";
import { copyMessage } from "../../history/message.js";
import { isRecord } from "../../shared/values.js";
import type { Block, Dialect } from "../contract/dialect.js";
import { readMedia, sendableBlock } from "../media/media.js";

/** A picture or file, and what the result says in its place. */
interface Moved {
  readonly block: Block;
  readonly note: string;
}

/** The result without its pictures and files, and these, if the provider accepts them only from a user. */
export function partResult(
  result: ToolMessage,
  { media, blocksIn }: Dialect,
): { readonly rest: ToolMessage; readonly moved: readonly Moved[] } {
  const { content } = result;
  const moved: Moved[] = [];
  if (media.results !== undefined || !Array.isArray(content) || !blocksIn.includes("human"))
    return { rest: result, moved };
  const left = content.map((block: Block): Block => {
    const kind = isRecord(block) ? readMedia(block)?.kind : undefined;
    const sent = kind === undefined || kind === "text" ? undefined : sendableBlock(block, media);
    if (sent === undefined) return block;
    const note = describeBlock({ ...block, type: kind }).replace(
      /]$/,
      ", shown in the message after the results]",
    );
    moved.push({ block: sent, note });
    return { type: "text", text: note };
  });
  return moved.length === 0
    ? { rest: result, moved }
    : { rest: copyMessage(result, { content: left as MessageContent }), moved };
}

const INTRODUCTION =
  "These pictures or files are from the results before this message. The user did not send them.";

/**
 * The blocks with a result's pictures and files.
 *
 * @param result The result as it is sent.
 */
export function introduced(result: ToolMessage, toolName: string, moved: readonly Moved[]): readonly Block[] {
  const tool = toolName === "" ? "" : ` of the tool ${toolName}`;
  const text = `From the result of the call ${result.tool_call_id}${tool}:`;
  return moved.flatMap(({ block }): Block[] => [{ type: "text", text }, block]);
}

/** The message that has these blocks of a batch. Undefined if there are none. */
export function resultMedia(blocks: readonly Block[]): BaseMessage | undefined {
  if (blocks.length === 0) return undefined;
  return new HumanMessage({
    content: [{ type: "text", text: INTRODUCTION }, ...blocks] as MessageContent,
    additional_kwargs: { [MARKS.source]: SUMMARY_SOURCE, [MARKS.resultMedia]: true },
  });
}

/** Whether a message has the pictures and files of the results before it. */
export function isResultMedia(message: BaseMessage): boolean {
  return message.type === "human" && message.additional_kwargs?.[MARKS.resultMedia] === true;
}

/** Whether the model gets a picture or a file of this message only as a description. */
export function describesMedia(message: BaseMessage, { media }: Dialect): boolean {
  const { type, content } = message;
  const form = type === "tool" ? (media.results ?? media) : media;
  if ((type !== "tool" && type !== "human") || !Array.isArray(content)) return false;
  return content.some((block: unknown) => {
    if (!isRecord(block) || block["type"] === "text") return false;
    return readMedia(block) !== undefined && sendableBlock(block, form) === undefined;
  });
}
