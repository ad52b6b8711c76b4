/**
 * Remembers what had to change in a response's input before its model accepted it. A mark on the response says so, and
 * is stored with each branch of the thread. Later responses made with the same help carry the mark on.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { MARKS, withMarks } from "../../history/marks.js";
import { isUserMessage } from "../../history/summary.js";
import type { ModelIdentity } from "../../providers/contract/provider.js";
import type { Reduction } from "../../providers/input/reduction.js";
import { mediaOf } from "../../providers/media/media-limits.js";
import { identityOf } from "../../providers/table/dialect-of.js";
import { isRecord } from "../../shared/values.js";
import type { Rung } from "../events.js";

/** In which form a history is sent. */
interface HelpfulForm {
  /** Whether the strict dialect replaced the model's own. */
  readonly isStrict: boolean;
  /** Undefined: nothing else was changed. */
  readonly reduction: Reduction | undefined;
  /** How many tokens a request of this thread may have, since a longer one was refused. Undefined: none was. */
  readonly window: number | undefined;
}

/** What helped after words that nobody knows. It may have helped by chance. */
export interface Doubt {
  /** The hash of the words. */
  readonly words: string;
  /** The form of the refused request. Later turns begin with it. */
  readonly usual: HelpfulForm;
}

export interface Help extends HelpfulForm {
  /**
   * What the input was shortened to, and the tokens of the tools' schemas beside it. Undefined: it was not shortened.
   */
  readonly bound: { readonly maxTokens?: number | undefined; readonly toolTokens: number } | undefined;
  /** How many further requests the turn has had. */
  readonly made: number;
  /** Undefined: the words were known, or the same words have come again. */
  readonly doubt: Doubt | undefined;
}

/** The response with marks of this help. The provider's count is then not the history's length. */
export function withHelp<Message extends BaseMessage>(
  response: Message,
  model: ModelIdentity,
  help: Help,
): Message {
  const { isStrict, reduction, bound, window, made } = help;
  // The strict dialect alone still says everything in the history.
  const isShort = bound !== undefined || reduction !== undefined;
  if (!isShort && !isStrict && window === undefined && made === 0) return response;
  return withMarks(response, {
    ...(isShort && { [MARKS.shortened]: true }),
    [MARKS.reduced]: { model: identityKey(model), ...help },
  });
}

/** Undefined for a message whose input was sent unchanged. Anyone can write to a state. */
export function helpOf(message: BaseMessage | undefined): (Help & { readonly model: string }) | undefined {
  const mark: unknown = message?.additional_kwargs?.[MARKS.reduced];
  if (message === undefined || !isRecord(mark) || !isAIMessage(message)) return undefined;
  const { model, bound, made, doubt } = mark;
  return {
    model: typeof model === "string" ? model : "",
    ...formIn(mark),
    bound: isBound(bound) ? bound : undefined,
    made: isCount(made) ? made : 0,
    doubt:
      isRecord(doubt) && typeof doubt["words"] === "string" && isRecord(doubt["usual"])
        ? { words: doubt["words"], usual: formIn(doubt["usual"]) }
        : undefined,
  };
}

function formIn({ isStrict, reduction, window }: Readonly<Record<string, unknown>>): HelpfulForm {
  return {
    isStrict: isStrict === true,
    reduction: isReduction(reduction) ? reduction : undefined,
    window: isCount(window) ? window : undefined,
  };
}

/** What the model's next request begins with: what helped its latest response. */
export function helpFor(history: readonly BaseMessage[], model: ModelIdentity): Help | undefined {
  const name = identityKey(model);
  const place = history.findLastIndex((message) => helpOf(message)?.model === name);
  return helpAfter(history, place);
}

/** What the message at this place tells the next request. What helped by chance helps only in its turn. */
export function helpAfter(history: readonly BaseMessage[], place: number): Help | undefined {
  const help = helpOf(history[place]);
  if (help === undefined) return undefined;
  const isOver = place < history.findLastIndex(isUserMessage);
  const now =
    help.doubt === undefined || !isOver
      ? help
      : { ...help, ...help.doubt.usual, bound: undefined, doubt: undefined };
  return { ...now, reduction: forThisTurn(now.reduction, history) };
}

/** What once helped after the same words that nobody knows. */
export function helpAgainst(
  words: string,
  history: readonly BaseMessage[],
  model: ModelIdentity,
): HelpfulForm | undefined {
  const name = identityKey(model);
  return history.map(helpOf).findLast((help) => help?.model === name && help.doubt?.words === words);
}

/** How many tokens this model has shown to take in this thread. Undefined: it has refused no request as too long. */
export function windowInThread(history: readonly BaseMessage[], model: object): number | undefined {
  return helpFor(history, identityOf(model))?.window;
}

function identityKey({ dialect, host, modelId = "" }: ModelIdentity): string {
  return [dialect, host, modelId].filter((part) => part !== undefined).join(" ");
}

/** In a turn whose pictures and files are all described, new ones are described too. */
function forThisTurn(
  reduction: Reduction | undefined,
  history: readonly BaseMessage[],
): Reduction | undefined {
  const { describesTurn, described = [], ...others } = reduction ?? {};
  if (describesTurn === undefined) return reduction;
  if (history.findLast(isUserMessage)?.id !== describesTurn) return { ...others, described };
  const all = mediaOf(history).map(({ shown }) => shown.fingerprint);
  return { ...others, describesTurn, described: [...new Set([...described, ...all])] };
}

/** The rungs that led to it, the least change first. */
export function rungsIn(help: Pick<Help, "isStrict" | "reduction" | "bound"> | undefined): readonly Rung[] {
  if (help === undefined) return [];
  const { isStrict, reduction, bound } = help;
  const { described = [], most, isRetold } = reduction ?? {};
  const taken: Readonly<Record<Rung, boolean>> = {
    shortened: bound !== undefined,
    counted: most !== undefined,
    described: described.length > 0,
    strict: isStrict,
    retold: isRetold === true,
  };
  return (Object.keys(taken) as Rung[]).filter((rung) => taken[rung]);
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

const isBound = (value: unknown): value is NonNullable<Help["bound"]> =>
  isRecord(value) && [value["maxTokens"] ?? 0, value["toolTokens"]].every(Number.isFinite);

function isReduction(value: unknown): value is Reduction {
  if (!isRecord(value)) return false;
  const { described = [], most = {}, isRetold = false, describesTurn = "" } = value;
  return (
    Array.isArray(described) &&
    described.every((fingerprint) => typeof fingerprint === "string") &&
    isRecord(most) &&
    Object.values(most).every((number) => typeof number === "number") &&
    typeof isRetold === "boolean" &&
    typeof describesTurn === "string"
  );
}
