/**
 * Drops signatures, encrypted reasoning and ids of stored items, unless the target model wrote them.
 *
 * Another provider cannot use them, and most reject state that they cannot verify. The author of a message is not
 * always known. If it is unknown, state in the provider's own fields counts as the provider's. A message in
 * LangChain's `v1` form has its state in blocks that each client converts differently, so it is sent without state.
 * What tools of a provider returned is sent as text.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { withTextFor } from "../../../history/messages/content-text.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { serverCallId, serverResultId } from "../../../history/messages/server-tools.js";
import { STATE_BLOCKS, STATE_FIELDS } from "../../dialects/dialects.js";
import type { Target } from "../../dialects/maker.js";
import { mayHaveWritten } from "../../dialects/maker.js";
import { withoutSignatures } from "../../dialects/thought-signature.js";
import type { Step, StepReason } from "./step.js";
import { withoutFields } from "./without-fields.js";

export const keepOwnState: Step = (target) => (message) => {
  const plain = withoutVersion(isAIMessage(message) ? withOwnSignatures(message, target) : message);
  // Most responses have no state, and then nobody needs to know who wrote them.
  if (!isAIMessage(plain) || !mayHaveState(plain)) return plain;
  return withOwnState(plain, isOwn(message, target), target);
};

/** Also in LangChain's `v1` form: the client keeps them on the calls. */
function withOwnSignatures(message: AIMessage, target: Target): AIMessage {
  const isOwn = target.dialect.makers.some((maker) => maker === "google") && mayHaveWritten(message, target);
  return isOwn ? message : withoutSignatures(message);
}

const STATE_NAMES: ReadonlySet<string> = new Set(STATE_FIELDS.map(({ name }) => name));

function mayHaveState({ content, additional_kwargs, response_metadata }: AIMessage): boolean {
  return Array.isArray(content) || hasStateName(additional_kwargs) || hasStateName(response_metadata);
}

function hasStateName(fields: object | undefined): boolean {
  for (const name in fields) if (STATE_NAMES.has(name)) return true;
  return false;
}

const VERSION_FIELD = "output_version";

function withoutVersion(message: BaseMessage): BaseMessage {
  if (message.response_metadata?.[VERSION_FIELD] === undefined) return message;
  const { [VERSION_FIELD]: _, ...response_metadata } = message.response_metadata;
  return copyMessage(message, { response_metadata });
}

function isOwn(message: BaseMessage, target: Target): boolean {
  if (!isAIMessage(message) || message.response_metadata?.[VERSION_FIELD] === "v1") return false;
  return target.dialect.makers.length > 0 && mayHaveWritten(message, target);
}

function withOwnState(message: AIMessage, own: boolean, { dialect }: Target): AIMessage {
  const isKept = (name: string): boolean => own && dialect.stateFields.some((field) => field.name === name);
  const lost = STATE_FIELDS.filter(({ place, name }) => isWritten(message[place]?.[name]) && !isKept(name));
  const isLostBlock = (block: { readonly type: string }): boolean =>
    (STATE_BLOCKS.has(block?.type) && !(own && dialect.stateBlocks.includes(block.type))) ||
    (!own && (serverCallId(block) ?? serverResultId(block)) !== undefined);
  const { content } = message;
  const losesBlocks = Array.isArray(content) && content.some(isLostBlock);
  const rest = withoutFields(message, lost);
  return losesBlocks
    ? copyMessage(rest, { content: withTextFor(content, (block) => !isLostBlock(block)) })
    : rest;
}

/** An empty text holds no state. */
function isWritten(value: unknown): boolean {
  return value !== undefined && value !== "";
}

export const whyKeepOwnState: StepReason = ({ before, after }) => {
  const kept = new Set(namesOfState(after));
  const lost = namesOfState(before).filter((name) => !kept.has(name));
  return {
    code: "state-removed",
    text: `Only the model that wrote it can read this, so it is not sent as it is: ${[...new Set(lost)].join(", ")}.`,
    rules: ["foreign-state"],
  };
};

function namesOfState(message: BaseMessage | undefined): string[] {
  const { content, additional_kwargs, response_metadata } = message ?? {};
  const blocks = Array.isArray(content) ? content.map((block) => String(block?.type)) : [];
  return [...blocks, ...Object.keys(additional_kwargs ?? {}), ...Object.keys(response_metadata ?? {})];
}
