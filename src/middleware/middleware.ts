/** The three kinds of middleware, and the door through which a list of them comes in. */

import { InvalidSettingError } from "../errors.js";
import { checkSettings, flag, type Rules, text } from "../settings/rule.js";
import type { AgentContext } from "./agent-context.js";
import type { ChatContext } from "./chat-context.js";
import type { FunctionContext } from "./function-context.js";
import type { Handler, Layer } from "./run-onion.js";

interface MiddlewareOf<Kind extends string, Context> extends Layer<Context> {
  readonly kind: Kind;
}

/** Made by `agentMiddleware`: it wraps each run. */
export interface AgentMiddleware extends MiddlewareOf<"agent", AgentContext> {}
/** Made by `chatMiddleware`: it wraps each model call. */
export interface ChatMiddleware extends MiddlewareOf<"chat", ChatContext> {
  readonly readOnly: boolean;
}
/** Made by `functionMiddleware`: it wraps each call of a tool. */
export interface FunctionMiddleware extends MiddlewareOf<"function", FunctionContext> {}

/** What `createAgentGraph` and a run take as `middleware`. */
export type Middleware = AgentMiddleware | ChatMiddleware | FunctionMiddleware;

/** What `agentMiddleware` takes beside its function. */
export interface MiddlewareOptions {
  /** What errors call it. @default the function's name */
  readonly name?: string;
}

/** What `chatMiddleware` takes beside its function. */
export interface ChatMiddlewareOptions extends MiddlewareOptions {
  /**
   * Whether the middleware never changes `context.result`. If all chat middleware of a run is read-only, the response
   * is streamed to the client as it comes; otherwise it is held back until all of them have seen it. Changing the result
   * anyway is a `MiddlewareError`.
   *
   * @default false
   */
  readonly readOnly?: boolean;
}

/** What `functionMiddleware` takes beside its function. */
export interface FunctionMiddlewareOptions extends MiddlewareOptions {
  /** Whether it may call `next()` again after it has returned, to run the tool once more. @default false */
  readonly retry?: boolean;
}

/**
 * Wraps each run of the graph, whichever method starts it. Code before `await next()` sees the input, code after it the
 * last message of the run. LangChain's counterparts are `beforeAgent` and `afterAgent`.
 *
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
export function agentMiddleware(
  handle: Handler<AgentContext>,
  options: MiddlewareOptions = {},
): AgentMiddleware {
  checkFactory("agentMiddleware", handle, options, { name: text });
  return { kind: "agent", name: nameOf(handle, options), handle, mayRetry: false };
}

/**
 * Wraps each model call. Code before `await next()` may change the messages that are sent, code after it the response.
 * LangChain's counterpart is `wrapModelCall`.
 *
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
export function chatMiddleware(
  handle: Handler<ChatContext>,
  options: ChatMiddlewareOptions = {},
): ChatMiddleware {
  checkFactory("chatMiddleware", handle, options, { name: text, readOnly: flag });
  const { readOnly = false } = options;
  return { kind: "chat", name: nameOf(handle, options), handle, mayRetry: false, readOnly };
}

/**
 * Wraps each tool call. Code before `await next()` may change the arguments, code after it the result. A tool that fails
 * does not throw here: the `status` of the result is `"error"`. LangChain's counterpart is `wrapToolCall`. To ask a human
 * before a call is run, use the option `requireApproval`; its counterpart is `interruptOn`.
 *
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
export function functionMiddleware(
  handle: Handler<FunctionContext>,
  options: FunctionMiddlewareOptions = {},
): FunctionMiddleware {
  checkFactory("functionMiddleware", handle, options, { name: text, retry: flag });
  const { retry = false } = options;
  return { kind: "function", name: nameOf(handle, options), handle, mayRetry: retry };
}

export interface MiddlewareByKind {
  readonly agent: readonly AgentMiddleware[];
  readonly chat: readonly ChatMiddleware[];
  readonly function: readonly FunctionMiddleware[];
}

/**
 * Sorts a list by kind; within a kind the first one is outermost.
 *
 * @throws InvalidSettingError for what is no middleware, or one of an unknown kind.
 */
export function sortMiddleware(list: unknown): MiddlewareByKind {
  if (!Array.isArray(list)) throw InvalidSettingError.expected("middleware", "a list of middleware", list);
  for (const [index, entry] of list.entries()) {
    if (isMiddleware(entry)) continue;
    const expectation = "made by agentMiddleware, chatMiddleware or functionMiddleware";
    throw InvalidSettingError.expected(`middleware[${index}]`, expectation, entry);
  }
  const middleware = list.filter(isMiddleware);
  return {
    agent: middleware.filter((entry) => entry.kind === "agent"),
    chat: middleware.filter((entry) => entry.kind === "chat"),
    function: middleware.filter((entry) => entry.kind === "function"),
  };
}

/** Those of the graph go around those of the run. */
export function joinMiddleware(outer: MiddlewareByKind, inner: MiddlewareByKind): MiddlewareByKind {
  return {
    agent: [...outer.agent, ...inner.agent],
    chat: [...outer.chat, ...inner.chat],
    function: [...outer.function, ...inner.function],
  };
}

const KINDS: ReadonlySet<unknown> = new Set<Middleware["kind"]>(["agent", "chat", "function"]);

function isMiddleware(value: unknown): value is Middleware {
  return (
    typeof value === "object" &&
    value !== null &&
    "kind" in value &&
    KINDS.has(value.kind) &&
    "name" in value &&
    "handle" in value &&
    typeof value.handle === "function"
  );
}

/** @throws InvalidSettingError for a handler that is no function, an unknown option or one of the wrong type. */
function checkFactory(factory: string, handle: unknown, options: unknown, rules: Rules): void {
  checkSettings(options, rules, `options of ${factory}`);
  if (typeof handle === "function") return;
  throw InvalidSettingError.expected(factory, "given an async function (context, next) => { … }", handle);
}

function nameOf(handle: { readonly name: string }, { name }: MiddlewareOptions): string {
  return name ?? (handle.name || "(unnamed)");
}
