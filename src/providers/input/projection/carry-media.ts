/**
 * Rewrites a user's images, sounds and files into the form that the client accepts.
 *
 * The history keeps them as the user's program wrote them: in LangChain's standard form, in its older form, or in a
 * provider's form. Clients read some forms of other providers, throw for some, and send some unchanged, which the
 * provider then rejects. A file of plain text becomes that text, unless it is in the provider's own form. Media that
 * the provider does not accept stay unchanged. The next step replaces them by a text description.
 */

import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { MEDIA_FORMS, type MediaForm } from "../../dialects/media/media-forms.js";
import { type Block, readMedia } from "../../dialects/media/read-media.js";
import type { Step } from "./step.js";

export const carryMedia: Step = ({ dialect }) => {
  const form: MediaForm = MEDIA_FORMS[dialect.media];
  // Among tool results, only Anthropic accepts images in the same form.
  const isCarrier = ({ type }: BaseMessage) =>
    type === "human" || (type === "tool" && dialect.media === "anthropic");
  return (message) => {
    const { content } = message;
    if (!isCarrier(message) || !Array.isArray(content)) return message;
    const blocks: MessageContent = content.map((block: Block) => carried(block, form));
    return blocks.every((block, index) => block === content[index])
      ? message
      : copyMessage<BaseMessage>(message, { content: blocks });
  };
};

function carried(block: Block, form: MediaForm): Block {
  if (!isRecord(block) || block["type"] === "text" || form.takes(block)) return block;
  const media = readMedia(block);
  if (media === undefined) return block;
  return (media.kind === "text" ? { type: "text", text: media.text } : form.write(media)) ?? block;
}
