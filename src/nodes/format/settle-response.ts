/** Decides what follows a response of the model in a graph with a response format. */

import { type AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { Command, END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { InvalidSettingError } from "../../errors.js";
import { callsOf, indexesById } from "../../history/messages/call.js";
import { endingRun, isResult } from "../../history/messages/result.js";
import type { FormatPlan } from "../../settings/format/read-response-format.js";
import type { StructuredOutputError, ToolStrategyOptions } from "../../settings/format/response-format.js";
import { toJson } from "../../shared/to-json.js";
import type { Dispatched } from "../model/dispatch-calls.js";
import { emitEvent } from "../run/agent-event.js";
import type { Turn } from "../run/agent-state.js";
import { noteFailure } from "../run/run-handle.js";
import type { ToolTask } from "../tools/tool-task.js";
import { checkCalls, checkText, divideCalls } from "./check-response.js";
import type { ActiveFormat } from "./format-request.js";

export interface ResponseState {
  readonly turn: Turn;
  /** Why the tools of the graph must not be called; undefined if they may. */
  readonly off: string | undefined;
  /** Whether the model is not asked again, whatever it responds. */
  readonly isFinal: boolean;
  /** Whether a middleware ended the run. */
  readonly isTerminated: boolean;
}

export type Settled =
  /** The node ends with this. */
  | { readonly kind: "done"; readonly dispatched: Dispatched }
  /** The response is handled like one without a format. These calls have their results already, by index. */
  | { readonly kind: "go-on"; readonly answered: ReadonlyMap<number, ToolMessage> };

const GO_ON: Settled = { kind: "go-on", answered: new Map() };

/** Every call of a format's tool has a result, right or wrong. */
export async function settleResponse(
  active: ActiveFormat,
  message: AIMessage,
  state: ResponseState,
  config: LangGraphRunnableConfig,
): Promise<Settled> {
  if (active.kind === "provider") return settleText(active, message, state, config);
  const { structured, others } = divideCalls(message, active.formats);
  if (structured.length === 0) return endsHere(message, state) ? missing(state, config) : GO_ON;
  // The model answers before it has seen the results of its other calls, so it is asked again when they are there.
  const { off, isTerminated } = state;
  if (structured.length === 1 && others.length > 0 && off === undefined && !isTerminated)
    return { kind: "go-on", answered: answers(structured, () => TOO_EARLY) };
  const checked = await checkCalls(structured, active.formats);
  if (checked.kind === "right") {
    const { value } = checked;
    const text = active.options.toolMessageContent ?? `Returning structured response: ${toJson(value)}`;
    const results = [
      ...structured.map((task) => endingRun(resultFor(task, text, "success"))),
      ...others.map((task) => resultFor(task, TOOLS_OFF, "error")),
    ];
    return end(message, results, state.turn, value);
  }
  emitEvent(config, { type: "structured-response-refused", reason: checked.error.message });
  // The calls are removed from the response, because nothing follows that could mend them.
  if (state.isFinal || state.isTerminated) return missing(state, config);
  const reply = await replyTo(checked.error, active.options);
  if (reply.kind === "fail") {
    const text = checked.error.message;
    const results = [...structured, ...others].map((task) => endingRun(resultFor(task, text, "error")));
    if (!noteFailure(reply.error, config)) throw reply.error;
    const { dispatched } = end(message, results, state.turn);
    return { kind: "done", dispatched: { ...dispatched, isEnd: false } };
  }
  const answered = answers(structured, () => reply.text);
  if (others.length > 0 && off === undefined) return { kind: "go-on", answered };
  const results = [...answered.values(), ...others.map((task) => resultFor(task, TOOLS_OFF, "error"))];
  const update = { messages: [message, ...inCallOrder(results, message)], turn: state.turn };
  const command = new Command({ update, goto: "model" as const });
  return { kind: "done", dispatched: { command, refused: results.length, isEnd: false } };
}

const TOO_EARLY =
  "Error: the structured response was not taken, because other tools were called with it. Respond again, with this call alone, after their results.";
const TOOLS_OFF = "Error: not run, because only a structured response is allowed here.";

/** Of a format that the provider keeps, a text is the response. */
async function settleText(
  { format }: Extract<ActiveFormat, { kind: "provider" }>,
  message: AIMessage,
  state: ResponseState,
  config: LangGraphRunnableConfig,
): Promise<Settled> {
  if (!endsHere(message, state)) return GO_ON;
  const checked = callsOf(message).length > 0 ? undefined : await checkText(message, format);
  if (checked?.kind === "right") return end(message, [], state.turn, checked.value);
  if (checked !== undefined)
    emitEvent(config, { type: "structured-response-refused", reason: checked.errors.join("\n") });
  return missing(state, config);
}

/** Whether no tool of the graph is called for this response. */
function endsHere(message: AIMessage, { off, isTerminated }: ResponseState): boolean {
  return callsOf(message).length === 0 || off !== undefined || isTerminated;
}

/** The turn ends without a structured response. */
function missing({ isFinal, isTerminated }: ResponseState, config: LangGraphRunnableConfig): Settled {
  const reason = isTerminated ? "ended" : isFinal ? "limit-reached" : "not-in-format";
  emitEvent(config, { type: "structured-response-missing", reason });
  return GO_ON;
}

/** Called when a tool or a middleware has ended the run. */
export function tellIfMissing(
  plan: FormatPlan | undefined,
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): void {
  const last = history.at(-1);
  const isStructured =
    last !== undefined &&
    isResult(last) &&
    last.status === "success" &&
    plan?.formats.some(({ name }) => name === last.name);
  if (plan === undefined || isStructured) return;
  emitEvent(config, { type: "structured-response-missing", reason: "ended" });
}

function end(
  message: AIMessage,
  results: readonly ToolMessage[],
  turn: Turn,
  structuredResponse?: unknown,
): Extract<Settled, { kind: "done" }> {
  const update = {
    messages: [message, ...inCallOrder(results, message)],
    turn,
    ...(structuredResponse !== undefined && { structuredResponse }),
  };
  const command = new Command({ update, goto: END });
  return { kind: "done", dispatched: { command, refused: results.length, isEnd: true } };
}

type Reply =
  | { readonly kind: "ask-again"; readonly text: string }
  | { readonly kind: "fail"; readonly error: unknown };

async function replyTo(
  error: StructuredOutputError,
  { handleError = true }: ToolStrategyOptions,
): Promise<Reply> {
  if (handleError === false) return { kind: "fail", error };
  if (handleError === true) return { kind: "ask-again", text: `Error: ${error.message}` };
  if (typeof handleError === "string") return { kind: "ask-again", text: handleError };
  try {
    const text: unknown = await handleError(error);
    if (typeof text === "string") return { kind: "ask-again", text };
    const expectation = "a function that returns a text";
    return {
      kind: "fail",
      error: InvalidSettingError.expected("responseFormat.handleError", expectation, text),
    };
  } catch (thrown) {
    return { kind: "fail", error: thrown };
  }
}

function answers(
  tasks: readonly ToolTask[],
  textFor: (task: ToolTask) => string,
): ReadonlyMap<number, ToolMessage> {
  return new Map(tasks.map((task) => [task.index, resultFor(task, textFor(task), "error")]));
}

function resultFor({ call }: ToolTask, content: string, status: "success" | "error"): ToolMessage {
  return new ToolMessage({ content, tool_call_id: call.id, name: call.name, status });
}

function inCallOrder(results: readonly ToolMessage[], message: AIMessage): ToolMessage[] {
  const indexes = indexesById(callsOf(message));
  const place = ({ tool_call_id }: ToolMessage) => indexes.get(tool_call_id)?.at(-1) ?? -1;
  return results.toSorted((left, right) => place(left) - place(right));
}
