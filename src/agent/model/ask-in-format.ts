/** Asks for a structured response, and checks it. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { InvalidSettingError } from "../../errors.js";
import { callsOf } from "../../history/call.js";
import { filterToolCalls } from "../../history/cut.js";
import { endingRun, isResult } from "../../history/result.js";
import { canFormat, forcedCallOf, formatOptions } from "../../providers/models/tools.js";
import { errorMessage } from "../../shared/is-error.js";
import { toJson } from "../../shared/json.js";
import { takeBack } from "../../threads/ended-runs/shown-text.js";
import { emitEvent } from "../../threads/events.js";
import { type ToolTask, toolTasksOf } from "../../threads/langgraph/read-checkpoints.js";
import type { Turn } from "../../threads/state.js";
import type { Dispatched } from "../calls/dispatch.js";
import { noteFailure } from "../run/handle.js";
import {
  type CheckedResponse,
  type Format,
  type FormatPlan,
  formatTools,
  MultipleStructuredOutputsError,
  type StructuredOutputError,
  StructuredOutputParsingError,
  type ToolStrategyOptions,
  toolOf,
} from "../settings/response-format.js";
import type { RunContext } from "../settings/run-context.js";
import type { ToolChoice } from "../settings/tools.js";
import { askForStep, type ModelResponse } from "./ask-in-middleware.js";
import type { FormatRequest, ModelRequest, Offer } from "./request.js";

export interface ResponseInFormat {
  readonly response: ModelResponse;
  /** The format of the model that responded. Undefined: text. */
  readonly format: ActiveFormat | undefined;
  /** How many times the model was asked. */
  readonly requests: number;
}

/**
 * A wrong text is not stored, because failed attempts in the history help nobody. Clients have received it, so it is
 * taken back. Only the next request contains it, with a message that says what is wrong. The last text stays.
 *
 * @param plan Undefined for a graph whose responses are texts.
 * @param mostRequests The most times that the model is asked.
 */
export async function askInFormat(
  plan: FormatPlan | undefined,
  request: Omit<ModelRequest, "addFormat" | "formatTools">,
  mostRequests: number,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ResponseInFormat> {
  if (plan === undefined)
    return { response: await askForStep(request, config), format: undefined, requests: 1 };
  const updates: ModelResponse["updates"][number][] = [];
  let asked: ModelRequest = {
    ...request,
    formatTools: formatTools(plan),
    addFormat: (offer, model) =>
      formatRequest(activeFormat(plan, model, offer.tools.length > 0), model, offer),
  };
  for (let requests = 1; ; requests += 1) {
    const response = await askForStep(asked, config);
    updates.push(...response.updates);
    const { message, model, position } = response;
    // A chat middleware can have offered other tools than the graph's.
    const format = activeFormat(plan, model, response.hasTools);
    const isLast = message === undefined || requests >= mostRequests || response.isTerminated;
    const fault = isLast || callsOf(message).length > 0 ? undefined : await faultOf(message, format);
    if (message === undefined || fault === undefined)
      return { response: { ...response, updates }, format, requests };
    emitEvent(config, { type: "structured-response-refused", reason: fault });
    await takeBack(message, config);
    const models = { ...asked.models, position };
    asked = { ...asked, ...withFault(asked, message, instruct(fault, format)), models };
  }
}

/** What is wrong with a text; undefined if it is in the format. */
async function faultOf(message: AIMessage, active: ActiveFormat): Promise<string | undefined> {
  if (active.strategy === "tool") return "The response is a text.";
  const checked = await checkText(message, active.format);
  return checked.kind === "right" ? undefined : checked.errors.join("\n");
}

function instruct(fault: string, active: ActiveFormat): string {
  if (active.strategy === "tool") {
    return `${fault} Do not respond with a text. Call \`${active.format.name}\` with your response as its arguments.`;
  }
  return `The response does not match its schema:\n${fault}\nRespond again, only with JSON that matches this schema:\n${toJson(active.format.jsonSchema)}`;
}

/**
 * The message that says what is wrong looks like a new turn, which could drop calls of earlier turns from the input. So
 * they are dropped here, before it is added.
 */
function withFault(
  { history, input }: ModelRequest,
  message: AIMessage,
  text: string,
): Pick<ModelRequest, "history" | "input"> {
  const { maxToolCallsFromHistory: most, ...rest } = input;
  const shown: readonly BaseMessage[] = most === undefined ? history : filterToolCalls(history, most);
  return { history: [...shown, message, new HumanMessage(text)], input: rest };
}

/*
 * What a response format adds to a model request: tools, a tool choice, and options of the client.
 */

/** The format of one request. The model responds with a call of its tool, or with JSON text. */
interface ActiveFormat extends FormatPlan {
  readonly strategy: "tool" | "provider";
}

/** @param hasTools Whether the request has tools besides the format's own. */
function activeFormat(plan: FormatPlan, model: BaseChatModel, hasTools: boolean): ActiveFormat {
  const { strategy, format, strict } = plan;
  if (strategy !== "either") return { ...plan, strategy };
  return { ...plan, strategy: canFormat(model, { ...format, strict }, hasTools) ? "provider" : "tool" };
}

/** Adds a format to the graph's tools and their choice. The format holds even if the tools are off. */
function formatRequest(
  { strategy, format, strict }: ActiveFormat,
  model: BaseChatModel,
  offer: Offer,
): FormatRequest {
  if (strategy === "provider")
    return { ...offer, clientOptions: (asked) => formatOptions(asked, { ...format, strict }) };
  return { tools: [...offer.tools, toolOf(format)], toolChoice: choiceFor(format, model, offer) };
}

/**
 * The model must call a tool in each response, because the last one is a call too. A model that cannot be forced is
 * asked again if it responds with text.
 */
function choiceFor({ name }: Format, model: BaseChatModel, { tools, toolChoice }: Offer): ToolChoice {
  const isOff = toolChoice === "none";
  const force = forcedCallOf(model);
  const isOnly = isOff || tools.length === 0;
  if (isOnly && force !== "nothing") return { mode: "required", requiredFunctionName: name };
  if (!isOff && toolChoice !== "auto") return toolChoice;
  return force === "any" ? "required" : "auto";
}

/*
 * Decides what follows a model response in a graph with a response format.
 */

interface ResponseState {
  readonly turn: Turn;
  /** Why the graph's tools must not be called; undefined if they may. */
  readonly off: string | undefined;
  /** Whether the model is not asked again, whatever it responds. */
  readonly isFinal: boolean;
  /** Whether a middleware ended the run. */
  readonly isTerminated: boolean;
}

type Settled =
  /** The node ends with this. */
  | { readonly kind: "done"; readonly dispatched: Dispatched }
  /** The response is handled like one without a format. These calls, by index, already have their results. */
  | { readonly kind: "go-on"; readonly answered: ReadonlyMap<number, ToolMessage> };

const GO_ON: Settled = { kind: "go-on", answered: new Map() };

interface Response extends ResponseState {
  readonly active: ActiveFormat;
  readonly message: AIMessage;
  readonly tasks: readonly ToolTask[];
  readonly structured: readonly ToolTask[];
  /** Whether its other calls are run. */
  readonly runsOthers: boolean;
  readonly config: LangGraphRunnableConfig;
}

/** Every call of a format's tool gets a result, right or wrong. */
export async function settleResponse(
  active: ActiveFormat,
  message: AIMessage,
  state: ResponseState,
  config: LangGraphRunnableConfig,
): Promise<Settled> {
  const tasks = toolTasksOf(message);
  const isTool = active.strategy === "tool";
  const structured = isTool ? tasks.filter(({ call }) => call.name === active.format.name) : [];
  const runsOthers = structured.length < tasks.length && state.off === undefined && !state.isTerminated;
  const response: Response = { ...state, active, message, tasks, structured, runsOthers, config };
  if (structured.length > 0) return settleCalls(response);
  if (runsOthers) return GO_ON;
  // In a format that the provider enforces, a text is the response.
  return isTool || tasks.length > 0 ? endWithout(response) : settleText(response);
}

async function settleText(response: Response): Promise<Settled> {
  const { active, message, config } = response;
  const checked = await checkText(message, active.format);
  if (checked.kind === "right") return done(response, [], END, { structuredResponse: checked.value });
  emitEvent(config, { type: "structured-response-refused", reason: checked.errors.join("\n") });
  return endWithout(response);
}

async function settleCalls(response: Response): Promise<Settled> {
  const { active, structured, runsOthers, isFinal, isTerminated, config } = response;
  const { format, options } = active;
  // The model responded before it saw the results of its other calls, so it is asked again once they are there.
  if (structured.length === 1 && runsOthers) return goOn(response, TOO_EARLY);
  const checked = await checkCalls(structured, format);
  if (checked.kind === "right") {
    const { value } = checked;
    const text = options.toolMessageContent ?? `Returning structured response: ${toJson(value)}`;
    const results = resultsOf(response, text, "success").map(endingRun);
    return done(response, results, END, { structuredResponse: value });
  }
  const { error } = checked;
  emitEvent(config, { type: "structured-response-refused", reason: error.message });
  // The calls are removed from the response, because no later request could correct them.
  if (isFinal || isTerminated) return endWithout(response);
  try {
    const text = await textAbout(error, options.handleError);
    return runsOthers ? goOn(response, text) : done(response, resultsOf(response, text, "error"), "model");
  } catch (failure) {
    noteFailure(failure, config);
    return done(response, resultsOf(response, error.message, "error").map(endingRun), END);
  }
}

function endWithout({ isFinal, isTerminated, config }: Response): Settled {
  const reason = isTerminated ? "ended" : isFinal ? "limit-reached" : "not-in-format";
  emitEvent(config, { type: "structured-response-missing", reason });
  return GO_ON;
}

function done(
  { message, turn }: Response,
  results: readonly ToolMessage[],
  goto: "model" | typeof END,
  structured?: { readonly structuredResponse: unknown },
): Settled {
  const update = { messages: [message, ...results], turn, ...structured };
  const isEnd = structured !== undefined;
  return { kind: "done", dispatched: { update, goto, refused: results.length, isEnd } };
}

/** Answers the format's calls with this error. The response's other calls continue. */
function goOn({ structured }: Response, text: string): Settled {
  return {
    kind: "go-on",
    answered: new Map(structured.map((task) => [task.index, resultFor(task, text, "error")])),
  };
}

/** Results for all calls: this text for the format's calls. The others say that they were not run. */
function resultsOf({ tasks, structured }: Response, text: string, status: "success" | "error") {
  return tasks.map((task) =>
    structured.includes(task) ? resultFor(task, text, status) : resultFor(task, TOOLS_OFF, "error"),
  );
}

const TOO_EARLY =
  "Error: the structured response was not taken, because other tools were called with it. Respond again, with this call alone, after their results.";
const TOOLS_OFF = "Error: not run, because only a structured response is allowed here.";

/**
 * What the model reads about a wrong response.
 *
 * @throws what the run fails with.
 */
async function textAbout(
  error: StructuredOutputError,
  handleError: ToolStrategyOptions["handleError"] = true,
): Promise<string> {
  if (handleError === false) throw error;
  if (handleError === true) return `Error: ${error.message}`;
  const text: unknown = typeof handleError === "string" ? handleError : await handleError(error);
  if (typeof text === "string") return text;
  const expectation = "a function that returns a text";
  throw InvalidSettingError.expected("responseFormat.handleError", expectation, text);
}

function resultFor({ call }: ToolTask, content: string, status: "success" | "error"): ToolMessage {
  return new ToolMessage({ content, tool_call_id: call.id, name: call.name, status });
}

/** Called when a tool or a middleware has ended the run. */
export function tellIfMissing(
  plan: FormatPlan | undefined,
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): void {
  const last = history.at(-1);
  const isStructured =
    last !== undefined && isResult(last) && last.status === "success" && plan?.format.name === last.name;
  if (plan === undefined || isStructured) return;
  emitEvent(config, { type: "structured-response-missing", reason: "ended" });
}

/*
 * What a model response says in the format: a structured response, or what is wrong with it.
 */

type CheckedCalls =
  | { readonly kind: "right"; readonly value: unknown }
  | { readonly kind: "wrong"; readonly error: StructuredOutputError };

/** Checks the structured calls of one response. Only one is allowed. */
async function checkCalls(structured: readonly ToolTask[], format: Format): Promise<CheckedCalls> {
  const [task, ...others] = structured;
  if (task === undefined || others.length > 0) {
    const names = structured.map(({ call }) => call.name);
    return { kind: "wrong", error: new MultipleStructuredOutputsError(names) };
  }
  const { call, args, parseError } = task;
  const wrong = (errors: readonly string[]): CheckedCalls => ({
    kind: "wrong",
    error: new StructuredOutputParsingError(call.name, errors),
  });
  if (call.id === "") return wrong(["the call has no id"]);
  if (args === undefined) return wrong([parseError ?? "it is not valid JSON"]);
  const checked = await format.check(args);
  return checked.kind === "right" ? checked : wrong(checked.errors);
}

async function checkText(message: AIMessage, format: Format): Promise<CheckedResponse> {
  try {
    return format.check(JSON.parse(withoutFence(message.text.trim())));
  } catch (error) {
    return { kind: "wrong", errors: [`the text is not valid JSON: ${errorMessage(error)}`] };
  }
}

/** Some models wrap JSON in a Markdown block. */
function withoutFence(text: string): string {
  const [opening] = /^```(?:json)?\s*\n/.exec(text) ?? [];
  return opening !== undefined && text.endsWith("```")
    ? text.slice(opening.length, -"```".length).trim()
    : text;
}
