/** The three kinds of middleware, the functions that make them, and the check of a list of them. */

import { InvalidSettingError } from "../../errors.js";
import { checkSettings, flag, type Rules, text } from "../../shared/check-settings.js";
import { refusedByLangChain } from "../../shared/misplaced.js";
import { isRecord } from "../../shared/values.js";
import type { AgentContext, ChatContext, ContextView, FunctionContext, StateView } from "./contexts.js";
import type { Handler, Layer } from "./run-onion.js";

interface MiddlewareOf<Kind extends string, Context> extends Layer<Context> {
  readonly kind: Kind;
}

/** Middleware around each run, made by `agentMiddleware`. */
export interface AgentMiddleware extends MiddlewareOf<"agent", AgentContext> {}
/** Middleware around each model call, made by `chatMiddleware`. */
export interface ChatMiddleware extends MiddlewareOf<"chat", ChatContext> {
  /** Whether it never changes `context.result`. */
  readonly readOnly: boolean;
}
/** Middleware around each tool call, made by `functionMiddleware`. */
export interface FunctionMiddleware extends MiddlewareOf<"function", FunctionContext> {}

/** An entry of `middleware`, an option of `createAgentGraph` and of a run. */
export type Middleware = AgentMiddleware | ChatMiddleware | FunctionMiddleware;

/** The options of `agentMiddleware`. */
export interface MiddlewareOptions {
  /** The name in error messages. @default the name of the function */
  readonly name?: string;
}

/** The options of `chatMiddleware`. */
export interface ChatMiddlewareOptions extends MiddlewareOptions {
  /**
   * Whether the middleware never changes `context.result`. If all chat middleware of a run is read-only, the response
   * is streamed to the client as it arrives. Otherwise it is held back until all of them have seen it. A read-only
   * middleware that changes the result causes a `MiddlewareError`.
   *
   * @default false
   */
  readonly readOnly?: boolean;
  /**
   * Whether the middleware can call `next()` again, after the last call has settled, to ask the model again. The
   * response that clients already have is then taken back. @default false
   */
  readonly retry?: boolean;
}

/** The options of `functionMiddleware`. */
export interface FunctionMiddlewareOptions extends MiddlewareOptions {
  /**
   * Whether the middleware can call `next()` again, after the last call has settled, to run the tool again. @default
   * false
   */
  readonly retry?: boolean;
}

/**
 * Makes middleware around each run of the graph, whichever method starts the run. Code before `await next()` sees the
 * run's input. Code after it sees the run's last message. LangChain's counterparts are `beforeAgent` and `afterAgent`.
 *
 * @param handle The middleware. It calls `next` once and awaits it, or it sets `context.result` instead.
 * @throws InvalidSettingError for a handler that is not a function, or an unknown option.
 *
 * @example
 * ```ts
 * import { agentMiddleware, createAgentGraph } from "langgraph-tether";
 *
 * const guardrail = agentMiddleware(async function guardrail(context, next) {
 *   const question = context.messages.at(-1)?.text ?? "";
 *   if (/password/i.test(question)) context.result = "I do not talk about passwords.";
 *   else await next();
 * });
 * const agent = createAgentGraph({ model: "offline:", middleware: [guardrail] });
 * const { messages } = await agent.invoke({ messages: [{ role: "user", content: "The password?" }] });
 * console.log(messages.at(-1)?.text); // I do not talk about passwords.
 * ```
 */
export function agentMiddleware<State extends object = StateView, Context extends object = ContextView>(
  handle: Handler<AgentContext<State, Context>>,
  options: MiddlewareOptions = {},
): AgentMiddleware {
  return onlyHere({ kind: "agent", ...layerOf("agentMiddleware", handle, options, { name: text }) });
}

/**
 * Makes middleware around each model call. Code before `await next()` can change the messages that are sent. Code after
 * it can change the response. LangChain's counterpart is `wrapModelCall`.
 *
 * @param handle The middleware. It calls `next` once and awaits it, or it sets `context.result` instead. With `retry`,
 * it can call `next` again.
 * @throws InvalidSettingError for a handler that is not a function, or an unknown option.
 *
 * @example
 * ```ts
 * import { SystemMessage } from "@langchain/core/messages";
 * import { chatMiddleware, createAgentGraph } from "langgraph-tether";
 *
 * const instruct = chatMiddleware(async function instruct(context, next) {
 *   context.messages.push(new SystemMessage("The user is in Rome."));
 *   console.log(context.messages.map(({ type }) => type).join(" ")); // human system
 *   await next();
 * });
 * const agent = createAgentGraph({ model: "offline:", middleware: [instruct] });
 * await agent.invoke({ messages: [{ role: "user", content: "Hello" }] });
 * ```
 */
export function chatMiddleware<State extends object = StateView, Context extends object = ContextView>(
  handle: Handler<ChatContext<State, Context>>,
  options: ChatMiddlewareOptions = {},
): ChatMiddleware {
  const rules = { name: text, readOnly: flag, retry: flag };
  const layer = layerOf<ChatContext>("chatMiddleware", handle, options, rules);
  return onlyHere({ kind: "chat", ...layer, readOnly: options.readOnly ?? false });
}

/**
 * Makes middleware around each tool call. Code before `await next()` can change the arguments. Code after it can change
 * the result. If the tool fails, `next()` does not throw: the `status` of the result is `"error"`. LangChain's
 * counterpart is `wrapToolCall`. To ask a human before a tool call runs, use the option `requireApproval`. Its
 * counterpart is `interruptOn`.
 *
 * @param handle The middleware. It calls `next` once and awaits it, or it sets `context.result` instead. With `retry`,
 * it can call `next` again.
 * @throws InvalidSettingError for a handler that is not a function, or an unknown option.
 *
 * @example
 * ```ts
 * import { tool } from "@langchain/core/tools";
 * import { createAgentGraph, functionMiddleware } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const sky = tool(async () => "clear", { name: "sky", description: "Looks up.", schema: z.object({}) });
 * const audit = functionMiddleware(async function audit(context, next) {
 *   await next();
 *   console.log(`${context.call.name}: ${context.result?.status}`); // sky: success
 * });
 * const agent = createAgentGraph({ model: "offline:", tools: [sky], middleware: [audit] });
 * await agent.invoke({ messages: [{ role: "user", content: "call sky" }] });
 * ```
 */
export function functionMiddleware<State extends object = StateView, Context extends object = ContextView>(
  handle: Handler<FunctionContext<State, Context>>,
  options: FunctionMiddlewareOptions = {},
): FunctionMiddleware {
  const layer = layerOf<FunctionContext>("functionMiddleware", handle, options, { name: text, retry: flag });
  return onlyHere({ kind: "function", ...layer });
}

/**
 * Checks a list of middleware.
 *
 * @returns A copy of the list.
 * @throws InvalidSettingError for a value that is not a list, or an entry that is not middleware.
 */
export function checkMiddleware(list: unknown): readonly Middleware[] {
  if (!Array.isArray(list)) throw InvalidSettingError.expected("middleware", "a list of middleware", list);
  for (const [index, entry] of list.entries()) {
    if (isMiddleware(entry)) continue;
    const setting = `middleware[${index}]`;
    if (Object(entry)[LANGCHAIN_BRAND] === true)
      throw new InvalidSettingError(
        setting,
        `\`${setting}\` is the middleware \`${Object(entry).name}\` of LangChain, which only agents of LangChain take. createAgentGraph takes what agentMiddleware, chatMiddleware and functionMiddleware make. To protect an agent of createAgent, give it \`tetherMiddleware()\` of langgraph-tether/langchain.`,
      );
    const expectation = "made by agentMiddleware, chatMiddleware or functionMiddleware";
    throw InvalidSettingError.expected(setting, expectation, entry);
  }
  return list.filter(isMiddleware);
}

export type MiddlewareByKind = ReturnType<typeof sortMiddleware>;

/** The first of a kind is its outermost layer. */
export function sortMiddleware(list: readonly Middleware[]) {
  return {
    agent: list.filter((entry) => entry.kind === "agent"),
    chat: list.filter((entry) => entry.kind === "chat"),
    function: list.filter((entry) => entry.kind === "function"),
  };
}

/** LangChain's `createMiddleware` marks everything it makes with this. */
const LANGCHAIN_BRAND = Symbol.for("AgentMiddleware");

const KINDS: ReadonlySet<unknown> = new Set<Middleware["kind"]>(["agent", "chat", "function"]);

function isMiddleware(value: unknown): value is Middleware {
  return (
    isRecord(value) && KINDS.has(value["kind"]) && "name" in value && typeof value["handle"] === "function"
  );
}

function onlyHere<Made extends Middleware>(made: Made): Made {
  const { kind, name } = made;
  const text = `\`${name}\` was made by ${kind}Middleware, for createAgentGraph. Agents of LangChain take what createMiddleware makes, and \`tetherMiddleware()\` of langgraph-tether/langchain.`;
  return refusedByLangChain(made, () => new InvalidSettingError("middleware", text));
}

/**
 * The layer that a handler and its options describe.
 *
 * @throws InvalidSettingError for a handler that is not a function, an unknown option, or an option of the wrong type.
 */
function layerOf<Context>(
  factory: string,
  handle: Handler<never>,
  options: MiddlewareOptions & { readonly retry?: boolean },
  rules: Rules,
): Layer<Context> {
  checkSettings(options, rules, `options of ${factory}`);
  if (typeof handle !== "function")
    throw InvalidSettingError.expected(factory, "given an async function (context, next) => { … }", handle);
  const { name = handle.name || "(unnamed)", retry = false } = options;
  // The graph that takes a middleware checks its types of state and context.
  return { name, handle: handle as unknown as Handler<Context>, mayRetry: retry };
}
