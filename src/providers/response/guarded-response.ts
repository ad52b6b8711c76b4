/** Accepts only complete responses from a model. A broken one is requested again, in one piece. */

import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { ModelError } from "../../errors.js";
import { callsOf, isAIMessage } from "../../history/call.js";
import { isBlankMessage, withoutCalls } from "../../history/change-calls.js";
import { copyMessage } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { defined } from "../../shared/values.js";
import { isProgramFault } from "../failure/model-failure.js";
import {
  askStreaming,
  askWhole,
  type BrokenResponse,
  type GuardedRequest,
  isPrivateAccess,
  mayStream,
  type Received,
  type Run,
  type StreamGuardOptions,
  type Told,
  usageIn,
  type WholeResponse,
} from "./ask-client.js";
import { ClientStream, tellRetries } from "./client-stream.js";
import { isUnparsed, type Manner, mayBeOfManner, noteAnswered, onlyManner } from "./manner.js";
import { BROKEN_REASONS, type BrokenReason, finishKindOf, LASTING_REASONS, withheldIn } from "./verdict.js";

interface GuardedResponse extends Told {
  readonly message: AIMessageChunk;
}

/**
 * A model's complete response. If somebody listens, its stream goes to the client as it arrives. No tool has run before
 * the response is complete, so a second request repeats no tool call.
 *
 * The guard does not handle the provider's refusals, unreachable hosts (both of which the model's client has retried),
 * and the run's abort.
 *
 * @throws ModelError if all attempts give broken responses.
 */
export async function guardedResponse(request: GuardedRequest): Promise<GuardedResponse> {
  const { guard, options } = request;
  const heard = request.manner === "streamed" ? request.run : undefined;
  const client = new ClientStream(guard.settle === undefined ? heard : undefined, guard);
  let response: WholeResponse;
  let accepted: AIMessage | AIMessageChunk;
  try {
    response = await askUntilEnd(request, client);
    accepted = acceptWithheld(response, guard);
  } catch (error) {
    // After an abort, the user may want to read the partial response.
    if (options.signal?.aborted !== true) await client.takeBack();
    throw error;
  }
  const message = await shownForm(accepted, guard, client, heard);
  // What says nothing new of the message would undo what was made of it.
  return accepted === response.message && guard.settle === undefined ? { ...response, message } : { message };
}

/** Requests a response, and requests it again while it is broken. */
async function askForWhole(request: GuardedRequest, client: ClientStream): Promise<WholeResponse> {
  const { guard, options } = request;
  const { maxFallbackAttempts, onBroken, wants } = guard;
  let response = await askEitherWay(request, wants === "whole-text" ? "whole" : request.manner, client);
  for (let attempts = 0; "reason" in response; attempts += 1) {
    onBroken(response);
    if (attempts >= maxFallbackAttempts || LASTING_REASONS.has(response.reason))
      throw noWholeResponse(response, attempts);
    options.signal?.throwIfAborted();
    response = await askEitherWay(request, "whole", new ClientStream(undefined, guard));
  }
  return response;
}

/** Asks in this manner. If the client or its host cannot, asks in the other one, once. */
async function askEitherWay(
  request: GuardedRequest,
  wanted: Manner,
  client: ClientStream,
): Promise<Received> {
  const { model, original, guard, messages, options } = request;
  const canStream = mayStream(model);
  const manner = canStream ? (onlyManner(original) ?? wanted) : "whole";
  const isOfManner = (error: unknown): boolean =>
    canStream &&
    options.signal?.aborted !== true &&
    error !== client.failure &&
    !isPrivateAccess(error) &&
    (mayBeOfManner(error, manner, messages) || (manner === "whole" && isUnparsed(error, options)));
  const askIn = (manner: Manner, shown: ClientStream, isFinal: (error: unknown) => boolean) =>
    tellRetries(model, { onRetry: guard.onRetry, isFinal }, () =>
      manner === "streamed" ? askStreaming(request, shown) : askWhole(request),
    );
  try {
    return await askIn(manner, client, isOfManner);
  } catch (error) {
    if (!isOfManner(error)) throw error;
    if (isProgramFault(error)) guard.onBroken({ reason: "unreadable", usage: undefined, cause: error });
    const other = manner === "streamed" ? "whole" : "streamed";
    const response = await askIn(other, new ClientStream(undefined, guard), () => false);
    if (!("reason" in response)) noteAnswered(original, other, error, messages);
    return response;
  }
}

/** Continues a turn that its provider has paused. Its pieces become one response, as the provider reads them later. */
async function askUntilEnd(request: GuardedRequest, client: ClientStream): Promise<WholeResponse> {
  let response = await askForWhole(request, client);
  let joined = response.message;
  for (let pauses = 0; pauses < MOST_PAUSES && finishKindOf(response.finish) === "paused"; pauses += 1) {
    request.options.signal?.throwIfAborted();
    const messages = [...request.messages, joined];
    response = await askForWhole({ ...request, messages }, new ClientStream(undefined, request.guard));
    joined = joinPieces(joined, response.message);
  }
  return joined === response.message ? response : { message: joined, finish: response.finish };
}

/** How many times a paused turn is sent again. */
const MOST_PAUSES = 6;

function joinPieces(first: AIMessage | AIMessageChunk, next: AIMessage | AIMessageChunk): AIMessage {
  return copyMessage<AIMessage>(next, {
    ...defined({ id: first.id, usage_metadata: usageIn([first, next]) }),
    // Chunks number the blocks of their piece.
    content: [...blocksOf(first), ...blocksOf(next)].map((block, index) =>
      "index" in block ? { ...block, index } : block,
    ),
    tool_calls: [...(first.tool_calls ?? []), ...(next.tool_calls ?? [])],
    invalid_tool_calls: [...(first.invalid_tool_calls ?? []), ...(next.invalid_tool_calls ?? [])],
  });
}

function blocksOf({ content }: BaseMessage) {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text" as const, text: content }];
}

/**
 * A refusal is a response: the same request would be refused again. Its words are its text, and its calls are not run.
 *
 * @throws ModelError if nothing of it is left, or if another model is asked instead.
 */
function acceptWithheld(
  { message, finish }: WholeResponse,
  { onWithheld, refusesWithheld = false, wants }: StreamGuardOptions,
): AIMessage | AIMessageChunk {
  const withheld = withheldIn(message, finish);
  if (withheld === undefined) return message;
  // A cut-off call has its own form in the content.
  const said =
    callsOf(message).length === 0
      ? message
      : copyMessage(
          withoutCalls(message, () => true),
          { content: message.text },
        );
  const { refusal: _, ...additional_kwargs } = said.additional_kwargs;
  const isTextless = said.text.trim() === "" && withheld.text !== "";
  const spoken = isTextless ? copyMessage(said, { content: withheld.text, additional_kwargs }) : said;
  const isKept = !refusesWithheld && wants !== "whole-text" && !isBlankMessage(spoken);
  onWithheld?.({ ...withheld, usage: message.usage_metadata, isKept });
  if (isKept) return spoken;
  const { reason, category, text } = withheld;
  const why = [reason, category].flatMap((word) => (word === undefined ? [] : `\`${word}\``)).join(", ");
  throw new ModelError(`The model's response was withheld (${why})${text === "" ? "." : `: ${text}`}`);
}

/** The response as the client has it in the end. */
async function shownForm(
  message: AIMessage | AIMessageChunk,
  guard: StreamGuardOptions,
  client: ClientStream,
  heard: Run,
): Promise<AIMessageChunk> {
  const { settle } = guard;
  if (settle === undefined) return message === client.readable ? client.readable : client.replaceBy(message);
  const stored = coerceMessage(message);
  if (stored === undefined || !isAIMessage(stored))
    throw new ModelError("Expected the model's response to be an AI message.");
  return new ClientStream(heard, guard).replaceBy(await settle(stored));
}

const ADVICE: Partial<Record<BrokenReason, string>> = {
  "cut-off-calls": " Raise the model's token limit, or ask for less at once.",
  "spent-limit": " Raise the model's token limit.",
  pending: " Turn the model's background mode off.",
};

function noWholeResponse({ reason, finish, cause }: BrokenResponse, attempts: number): ModelError {
  const again =
    attempts === 0
      ? "It was not requested again."
      : `It was requested again ${attempts} ${attempts === 1 ? "time" : "times"}.`;
  const status = reason === "pending" ? ` (\`${finish}\`)` : "";
  const advice = ADVICE[reason] ?? "";
  return new ModelError(
    `The model's response ${BROKEN_REASONS[reason]}${status}. ${again}${advice} No tool was run, and the history is unchanged.`,
    ...(cause === undefined ? [] : [{ cause }]),
  );
}
