/** The steps that change what a message says. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { isBlankMessage } from "../../../history/change-calls.js";
import { contentText, copyMessage, withTextFor, withWellFormedTexts } from "../../../history/message.js";
import { NO_OUTPUT } from "../../../history/result.js";
import { serverCallId, serverResultId } from "../../../history/server-tools.js";
import { isRecord } from "../../../shared/values.js";
import { REASONING_FIELD, reasoningOf } from "../../deepseek/dialect.js";
import { readMedia } from "../../media.js";
import { type Block, type Dialect, type MediaForm, mayHaveWritten, type Rules } from "../../rule.js";
import { blockType, textOf } from "../../validate-history.js";
import type { Step, StepReason } from "../step.js";

/*
 * Replaces each half of a surrogate pair. A program leaves one when it cuts a text in the middle of an emoji. JSON has no
 * place for it, so providers refuse the complete request, and each one after it.
 */

export const mendTexts: Step = {
  make: () => withWellFormedTexts,
  why: () => ({
    code: "characters-replaced",
    text: "A text has half of a surrogate pair, such as half of an emoji, so U+FFFD is sent in its place.",
    rules: ["unpaired-surrogate"],
  }),
};

/*
 * Turns content into a text, or into a list of blocks that the provider accepts.
 *
 * Some providers reject blank text as a block, others as a message. A block that the provider does not know becomes a
 * text description if it says something, and is dropped otherwise. So does the result of a tool that the provider ran if
 * LangChain's client does not send it; the text then tells the call too. A list is joined into one text where the client
 * accepts nothing else. An empty list becomes an empty text, because some clients lose the calls beside an empty
 * list.
 */

export const cleanContent: Step = {
  make:
    ({ dialect }) =>
    (message) => {
      const content = cleanedContent(message, dialect);
      return content === message.content ? message : copyMessage(message, { content });
    },
  why: ({ before, after, target }) => {
    const content: unknown = before.content;
    if (!Array.isArray(content)) {
      const text = "Its content says nothing, so an empty text takes its place.";
      return { code: "content-changed", text, rules: ["content-form", "blank-text"] };
    }
    const left = new Set<unknown>(Array.isArray(after?.content) ? after.content : []);
    const gone = content.filter((block: Block) => !left.has(block) && block?.type !== "text");
    if (takesBlocks(before, target.dialect) && gone.length > 0 && gone.every(isUnanswered(content)))
      return UNPAIRED_SERVER_TOOL;
    const types = [...new Set(gone.map((block: Block) => String(block?.type)))].join(", ");
    if (types === "")
      return {
        code: "content-changed",
        text: "Its texts are sent as one text, without blank ones.",
        rules: ["content-form", "blank-text"],
      };
    return {
      code: "content-changed",
      text: `The provider or its client does not take these blocks here, so a text describes them if they say something: ${types}.`,
      rules: ["foreign-block", "content-form"],
    };
  },
};

function cleanedContent(message: BaseMessage, dialect: Dialect): MessageContent {
  const content: unknown = message.content;
  if (typeof content === "string") return content === "" || content.trim() !== "" ? content : "";
  if (!Array.isArray(content)) return "";
  if (!takesBlocks(message, dialect)) return contentText(message).trim() === "" ? "" : contentText(message);
  const blocks = withTextFor(content, (block) => isTakenFrom(message, block, dialect));
  if (blocks.length === 0) return "";
  if (wantsText(blocks, dialect)) return contentText({ ...message, content: blocks } as BaseMessage);
  return blocks.every((block, index) => block === content[index]) && blocks.length === content.length
    ? content
    : blocks;
}

/**
 * A dialect that accepts lists from users is only sent them for images and files: some of its clients accept no
 * lists.
 */
function wantsText(blocks: readonly Block[], { blocksIn }: Dialect): boolean {
  return !blocksIn.includes("ai") && blocks.every(({ type }) => type === "text");
}

function takesBlocks({ type }: BaseMessage, { blocksIn }: Dialect): boolean {
  return blocksIn.some((taken) => taken === type || (taken === "human" && type === "system"));
}

function isTakenFrom({ type }: BaseMessage, block: unknown, dialect: Dialect): block is Block {
  if (!isRecord(block)) return false;
  if (block["type"] === "text") return textOf(block)?.trim() !== "";
  if (type === "system") return false;
  if (type !== "ai") return dialect.media.takes(block);
  return dialect.assistantBlocks.includes(blockType(block));
}

/** Whether a block is a call of a tool that the provider runs, and has no result. */
function isUnanswered(content: readonly unknown[]): (block: unknown) => boolean {
  const answered = new Set(content.map(serverResultId));
  return (block) => {
    const call = serverCallId(block);
    return call !== undefined && !answered.has(call);
  };
}

/** What is said of a call of such a tool without a result, whichever step leaves it out. */
export const UNPAIRED_SERVER_TOOL = {
  code: "server-call-removed",
  text: "A call of a tool that the provider runs has no result, or a result has no call, so it is not sent.",
  rules: ["server-call-without-result", "server-result-without-call"],
} as const satisfies ReturnType<StepReason>;

/*
 * Rewrites a user's images, sounds and files into the form that the client accepts.
 *
 * The history keeps them as the user's program wrote them: in LangChain's standard form, in its older form, or in a
 * provider's form. Clients read some forms of other providers, throw for some, and send some unchanged, which the
 * provider then rejects. A file of plain text becomes that text, unless it is in the provider's own form. Media that
 * the provider does not accept stay unchanged. The next step replaces them by a text description.
 */

export const carryMedia: Step = {
  make: ({ dialect }) => {
    const form = dialect.media;
    const isCarrier = ({ type }: BaseMessage) => type === "human" || (type === "tool" && form.isInResults);
    return (message) => {
      const { content } = message;
      if (!isCarrier(message) || !Array.isArray(content)) return message;
      const blocks: MessageContent = content.map((block: Block) => carried(block, form));
      return blocks.every((block, index) => block === content[index])
        ? message
        : copyMessage<BaseMessage>(message, { content: blocks });
    };
  },
  why: () => ({
    code: "media-converted",
    text: "Its pictures and files are sent in the form that the client of the provider takes.",
  }),
};

function carried(block: Block, form: MediaForm): Block {
  if (!isRecord(block) || block["type"] === "text" || form.takes(block)) return block;
  const media = readMedia(block);
  if (media === undefined) return block;
  return (media.kind === "text" ? { type: "text", text: media.text } : form.write(media)) ?? block;
}

/*
 * Drops or fills messages that say nothing.
 *
 * Most providers reject an assistant message with neither text nor calls, so it is dropped. A blank system message is
 * dropped too. A user message or a tool result has its place in the turn and must stay. It gets a short text where
 * the provider demands one.
 */

const EMPTY_MESSAGE = "(empty message)";

export const fillBlanks: Step = {
  make:
    ({ dialect }) =>
    (message) =>
      filled(message, dialect.rules),
  why: ({ before, after }) => {
    if (after === undefined)
      return {
        code: "blank",
        text: "It says nothing.",
        rules: before.type === "ai" ? ["empty-assistant"] : [],
      };
    const text = `It is empty, so "${after.content}" is sent.`;
    return { code: "blank-filled", text, rules: [before.type === "tool" ? "blank-result" : "blank-user"] };
  },
};

function filled(message: BaseMessage, rules: Rules): BaseMessage | undefined {
  if (isAIMessage(message)) {
    return (message.tool_calls ?? []).length === 0 && isBlankMessage(message) ? undefined : message;
  }
  // At this step, blank content is already an empty text.
  if (message.content !== "") return message;
  if (message.type === "system") return undefined;
  if (message.type === "tool" && rules["blank-result"] !== undefined)
    return copyMessage(message, { content: NO_OUTPUT });
  if (message.type === "human" && rules["blank-user"] !== undefined)
    return copyMessage(message, { content: EMPTY_MESSAGE });
  return message;
}

/*
 * Gives each assistant message reasoning, possibly empty, where the provider demands it. Removes it elsewhere.
 *
 * DeepSeek's thinking mode demands the reasoning of earlier responses. It accepts empty reasoning where it is lost,
 * or where another model wrote the message. Without thinking it ignores the field. A host that only has OpenAI's protocol
 * gets what its model wrote. Its client decides whether the field is sent: see `deepseek/client.ts`.
 */

export const passReasoning: Step = {
  make: (target) => {
    const { rules, stateFields } = target.dialect;
    const isDemanded = rules["missing-reasoning"] !== undefined;
    const isTaken = stateFields.some(({ name }) => name === REASONING_FIELD);
    return (message) => {
      if (!isAIMessage(message)) return message;
      const written: unknown = message.additional_kwargs?.[REASONING_FIELD];
      const own = reasoningOf(message) ?? "";
      const isOwn = own !== "" && mayHaveWritten(message, target);
      if (!isDemanded)
        return written === undefined || (isTaken && isOwn) ? message : withoutReasoning(message);
      const reasoning = isOwn ? own : "";
      if (written === reasoning) return message;
      return copyMessage(message, {
        additional_kwargs: { ...message.additional_kwargs, [REASONING_FIELD]: reasoning },
      });
    };
  },
  why: ({ after, target }) => {
    if (target.dialect.rules["missing-reasoning"] === undefined)
      return {
        code: "reasoning-changed",
        text: "The provider does not take this reasoning back, so it is not sent.",
      };
    const isEmpty = after === undefined || reasoningOf(after) === "";
    return {
      code: "reasoning-changed",
      text: `The provider demands reasoning${isEmpty ? ", and the model's own is not known, so an empty one is sent" : ""}.`,
      rules: ["missing-reasoning"],
    };
  },
};

function withoutReasoning(message: AIMessage): AIMessage {
  const { [REASONING_FIELD]: _, ...additional_kwargs } = message.additional_kwargs;
  return copyMessage(message, { additional_kwargs });
}
