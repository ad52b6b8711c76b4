/**
 * A user's pictures, sounds and files are written in the form that the client takes.
 *
 * The history keeps them as the user's program wrote them: in LangChain's standard form, in its older one, or in a
 * provider's. Clients read some forms of others, throw for some, and send some as they are, which the provider then
 * refuses. A file of plain text becomes that text where its form is not the provider's own. What the provider does not
 * take stays, for the next step to tell it in words.
 */

import type { BaseMessage, MessageContent } from "@langchain/core/messages";
import { copyMessage } from "../../../history/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { MEDIA_FORMS, type MediaForm } from "../media/media-forms.js";
import { type Block, readMedia } from "../media/read-media.js";
import { mapMessages } from "./map-messages.js";
import type { Step } from "./step.js";

export const carryMedia: Step = (messages, { dialect }) => {
  const form: MediaForm = MEDIA_FORMS[dialect.media];
  // Of results only Anthropic takes pictures in the same form.
  const isCarrier = ({ type }: BaseMessage) =>
    type === "human" || (type === "tool" && dialect.media === "anthropic");
  return mapMessages(messages, (message) => {
    const { content } = message;
    if (!isCarrier(message) || !Array.isArray(content)) return message;
    const blocks: MessageContent = content.map((block: Block) => carried(block, form));
    return blocks.every((block, index) => block === content[index])
      ? message
      : copyMessage<BaseMessage>(message, { content: blocks });
  });
};

function carried(block: Block, form: MediaForm): Block {
  if (!isRecord(block) || block["type"] === "text" || form.takes(block)) return block;
  const media = readMedia(block);
  if (media === undefined) return block;
  return (media.kind === "text" ? { type: "text", text: media.text } : form.write(media)) ?? block;
}
