/** The page of one thread as data. Pure: it is made from what was read, and nothing else. */

import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { readList } from "../../doctor/examine.js";
import type { ThreadReport } from "../../doctor/finding.js";
import { dialectIn } from "../../doctor/findings.js";
import type { ThreadStep } from "../../doctor/thread-store.js";
import { isAIMessage } from "../../history/call.js";
import { coerceMessage } from "../../history/read-messages.js";
import { countTokens } from "../../history/size.js";
import { isUserMessage } from "../../history/summary.js";
import { DIALECTS, type DialectName } from "../../providers/dialects.js";
import { explainInput, type InputExplanation } from "../../providers/input/explain-input.js";
import { readMaker } from "../../providers/rule.js";
import { validateHistory } from "../../providers/validate-history.js";
import { printableLine } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { excerptOf, type MessageView, viewMessage } from "./message-view.js";
import {
  compareInputs,
  type InputDifference,
  type Page,
  pageOf,
  pageWith,
  type RequestForm,
} from "./request-form.js";
import {
  type AlignedRow,
  alignmentOf,
  foldRows,
  type Mark,
  marksOfRow,
  marksOfStored,
  type RowSource,
  type ShownRow,
  viewRow,
} from "./rows.js";

/** How many rows a page has. */
const ROWS_PER_PAGE = 100;
/** How many places of a mark are linked. */
const MOST_PLACES = 12;
/** How many messages that are not sent any more are shown. */
const MOST_GONE = 20;

/** What was read of a thread. */
export interface ThreadReading {
  readonly threadId: string;
  readonly graph: string | undefined;
  readonly updatedAt: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | null | undefined;
  readonly report: ThreadReport;
  /** The steps that were read, the latest first. */
  readonly steps: readonly Step[];
  /** The step that is shown. Undefined for a thread without a readable state. */
  readonly step: Step | undefined;
  readonly isLatest: boolean;
  readonly history: readonly BaseMessage[];
  readonly form: RequestForm;
  /** The request before; undefined if there is none, or if it was not read. */
  readonly before:
    | { readonly step: Step; readonly history: readonly BaseMessage[]; readonly form: RequestForm }
    | undefined;
}

/** Where the messages with a mark are. */
export interface MarkPlaces {
  readonly mark: Mark;
  readonly count: number;
  readonly places: readonly { readonly page: number; readonly anchor: string; readonly label: string }[];
}

export interface StepDifference extends InputDifference {
  readonly to: Step;
  readonly counts: {
    readonly same: number;
    readonly new: number;
    readonly changed: number;
    readonly gone: number;
  };
  readonly goneMessages: readonly { readonly position: number; readonly message: MessageView }[];
}

export interface ThreadView extends Omit<ThreadReading, "before" | "metadata"> {
  readonly title: string;
  readonly explanation: InputExplanation;
  /** What each provider would refuse of the stored messages. */
  readonly soundness: readonly DialectSoundness[];
  /** How many rules of the dialect the request breaks: 0, unless there is a fault in this library. */
  readonly brokenInRequest: number;
  readonly totals: {
    readonly stored: number;
    readonly sent: number;
    readonly leftOut: number;
    readonly changed: number;
    readonly added: number;
    /** Our estimate for the request. */
    readonly tokens: number;
  };
  readonly difference: StepDifference | undefined;
  readonly marks: readonly MarkPlaces[];
  readonly page: Page;
  readonly rows: readonly ShownRow[];
  /** The page on which a message is, by its anchor: `stored-3`, `sent-2`. */
  readonly pageOfPlace: (anchor: string) => number;
}

/** @param wantedPage The page of rows, from 1; undefined for the last one. */
export function viewThread(reading: ThreadReading, wantedPage: number | undefined): ThreadView {
  const { history, before, metadata, ...read } = reading;
  const explanation = explainInput(history, read.form.options);
  const difference = before && differenceTo(before, explanation.input);
  const source: RowSource = { history, explanation, novelty: difference?.novelty };
  const aligned = alignmentOf(source);
  const page = pageOf(aligned.length, ROWS_PER_PAGE, wantedPage ?? Number.POSITIVE_INFINITY);
  const countFate = (fate: string) => explanation.stored.filter((told) => told.fate === fate).length;
  return {
    ...read,
    history,
    title: titleOf(history, metadata),
    explanation,
    soundness: soundnessOf(history),
    brokenInRequest: validateHistory(explanation.input, read.form.options.dialect).length,
    totals: {
      stored: history.length,
      sent: explanation.input.length,
      leftOut: countFate("left-out"),
      changed: countFate("changed"),
      added: explanation.added.length,
      tokens: explanation.input.reduce((sum, message) => sum + countTokens(message), 0),
    },
    difference,
    marks: placesOfMarks(aligned, source),
    page,
    rows: foldRows(aligned.slice(page.start, page.end).map((row) => viewRow(row, source))),
    pageOfPlace: pagesOfPlaces(aligned),
  };
}

function differenceTo(
  { step, history, form }: NonNullable<ThreadReading["before"]>,
  input: readonly BaseMessage[],
): StepDifference {
  const sentBefore = explainInput(history, form.options).input;
  const difference = compareInputs(input, sentBefore);
  const count = (wanted: string) => difference.novelty.filter((novelty) => novelty === wanted).length;
  return {
    ...difference,
    to: step,
    counts: {
      same: count("same"),
      new: count("new"),
      changed: count("changed"),
      gone: difference.gone.length,
    },
    goneMessages: difference.gone.slice(0, MOST_GONE).flatMap((place) => {
      const message = sentBefore[place];
      return message === undefined ? [] : [{ position: place + 1, message: viewMessage(message) }];
    }),
  };
}

function pagesOfPlaces(aligned: readonly AlignedRow[]): ThreadView["pageOfPlace"] {
  const pages = new Map<string, number>();
  for (const [index, { stored, sent }] of aligned.entries()) {
    const page = pageWith(index, ROWS_PER_PAGE);
    if (stored !== undefined) pages.set(`stored-${stored + 1}`, page);
    for (const place of sent) pages.set(`sent-${place + 1}`, page);
  }
  return (anchor) => pages.get(anchor) ?? 1;
}

function placesOfMarks(aligned: readonly AlignedRow[], source: RowSource): readonly MarkPlaces[] {
  const found = new Map<string, { mark: Mark; count: number; places: MarkPlaces["places"][number][] }>();
  for (const [index, row] of aligned.entries())
    for (const mark of marksOfRow(row, source)) {
      const entry = found.get(mark.word) ?? { mark, count: 0, places: [] };
      entry.count += 1;
      if (entry.places.length < MOST_PLACES)
        entry.places.push({
          page: pageWith(index, ROWS_PER_PAGE),
          ...(row.stored === undefined
            ? { anchor: `sent-${(row.sent[0] ?? 0) + 1}`, label: `sent ${(row.sent[0] ?? 0) + 1}` }
            : { anchor: `stored-${row.stored + 1}`, label: `${row.stored + 1}` }),
        });
      found.set(mark.word, entry);
    }
  return [...found.values()];
}

/*
 * The steps of a thread: its checkpoints, and what its model was asked at each.
 */

/** What a model said at a step. */
interface StepResponse {
  /** The name in LangChain's `response_metadata.model_provider`; null if the response does not say. */
  readonly provider: string | null;
  /** The dialect of that provider. */
  readonly dialect: DialectName | null;
  readonly model: string | null;
  /** Tokens that the provider counted; null if it did not say. */
  readonly inputTokens: number | null;
  /** Those of them that came from its prompt cache. */
  readonly cachedTokens: number | null;
}

export interface Step {
  readonly checkpointId: string;
  /** LangGraph's number: -1 is the input of the first run. */
  readonly number: number | null;
  /** ISO 8601; null if that is unknown. */
  readonly at: string | null;
  readonly messages: number;
  /** The nodes that run next. */
  readonly next: readonly string[];
  /** Whether the model was asked with these messages, or will be when the thread goes on. */
  readonly asksModel: boolean;
  readonly response: StepResponse | null;
  readonly runId: string | null;
}

/** Nodes that ask a model: ours, that of `createAgent`, that of `createReactAgent`, and usual names. */
const MODEL_NODES: ReadonlySet<string> = new Set([
  "model",
  "model_request",
  "agent",
  "call_model",
  "llm",
  "chatbot",
]);

export function stepOf(stored: ThreadStep): Step {
  const { checkpointId, createdAt = null, messages = [], next } = stored;
  const { step: number, run_id: runId } = stored.metadata;
  const response = responseOf(stored);
  return {
    checkpointId,
    number: typeof number === "number" ? number : null,
    at: createdAt,
    messages: messages.length,
    next,
    asksModel: response !== undefined || next.some((node) => MODEL_NODES.has(node)),
    response: response === undefined ? null : readResponse(response),
    runId: typeof runId === "string" ? runId : null,
  };
}

function responseOf({ tasks }: ThreadStep): AIMessage | undefined {
  return tasks
    .filter(({ node }) => MODEL_NODES.has(node))
    .flatMap(({ result }) => (isRecord(result) ? [result["messages"] ?? []].flat() : []))
    .flatMap((value) => coerceMessage(value) ?? [])
    .find(isAIMessage);
}

function readResponse(response: AIMessage): StepResponse {
  const { provider, model } = readMaker(response);
  const usage: unknown = response.usage_metadata;
  const details = isRecord(usage) ? usage["input_token_details"] : undefined;
  return {
    provider: provider ?? null,
    dialect: dialectIn([response]) ?? null,
    model: model ?? null,
    inputTokens: countIn(usage, "input_tokens"),
    cachedTokens: countIn(details, "cache_read"),
  };
}

function countIn(value: unknown, name: string): number | null {
  const count = isRecord(value) ? value[name] : undefined;
  return typeof count === "number" ? count : null;
}

/*
 * What the pages show of a whole thread.
 */

const REPAIRS: ReadonlySet<string> = new Set(["recovered", "placeholder", "made-up"]);

export interface LastRepair {
  readonly mark: Mark;
  /** The position of the message, from 1. */
  readonly position: number;
}

/** The last message that a repair has written; null if there is none. */
export function lastRepairIn(messages: readonly BaseMessage[]): LastRepair | null {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    const mark = message && marksOfStored(message).find(({ code }) => REPAIRS.has(code));
    if (mark !== undefined) return { mark, position: index + 1 };
  }
  return null;
}

/** A name for people: what the metadata calls it, or the first words of its user. */
export function titleOf(
  messages: readonly BaseMessage[],
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string {
  const given = metadata?.["title"];
  if (typeof given === "string" && given.trim() !== "") return printableLine(given.slice(0, 120));
  const first = messages.find(isUserMessage);
  return first === undefined ? "" : excerptOf(first);
}

/*
 * Which providers would take the stored messages as they are.
 */

export const DIALECT_NAMES = Object.keys(DIALECTS) as readonly DialectName[];

export interface DialectSoundness {
  readonly dialect: DialectName;
  /** How many rules the messages break. 0: no known rule refuses them. */
  readonly broken: number;
}

/**
 * What each provider family would refuse if the next message of a user came and the stored messages were sent as they
 * are. What is sent is another form of them, which no known rule refuses.
 */
export function soundnessOf(messages: readonly BaseMessage[]): readonly DialectSoundness[] {
  const sent = [...messages, new HumanMessage("…")];
  return DIALECT_NAMES.map((dialect) => ({ dialect, broken: validateHistory(sent, dialect).length }));
}

export function isDialectName(value: unknown): value is DialectName {
  return DIALECT_NAMES.some((name) => name === value);
}

/** The messages of a stored list. Values that are not messages are left out: the doctor names them. */
export function messagesIn(list: readonly unknown[] = []): readonly BaseMessage[] {
  return readList(list).messages.map(({ message }) => message);
}
