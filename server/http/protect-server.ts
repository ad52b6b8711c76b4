/**
 * Refuses requests with which one client would stop LangGraph's development server, or destroy what it keeps for everybody.
 * Each was found with @langchain/langgraph-api 1.5.1:
 *
 * - It keeps the threads of all users in one file. Some values make every later save fail, or make the file unreadable,
 * and it then starts with an empty one.
 * - Each of its ten workers ends for good if the run that it works on, or the thread of that run, has been deleted.
 * - Nothing limits what is sent over a WebSocket, and nothing checks whose assistant it names.
 */

import { load } from "@langchain/core/load";
import * as messages from "@langchain/core/messages";
import type { Handler, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { type ChatMiddleware, chatMiddleware } from "../../src/agent/middleware/middleware.js";
import { copyMessage } from "../../src/history/message.js";
import { isSerializedForm, MOST_LEVELS } from "../../src/history/storable.js";
import { parseJson } from "../../src/shared/json.js";
import { shortened } from "../../src/shared/text.js";
import { clientOfThisServer } from "../../src/threads/langgraph/run-host.js";
import { runOwners } from "../access/access.js";
import { idsOfThreads } from "./limits.js";

/** The server cannot read a file that is nested more than 50 levels deep, and puts up to six around a body. */
const MOST_LEVELS_OF_BODY = MOST_LEVELS + 4;
/** Work with a body blocks the server for everybody. */
const MOST_VALUES = 200_000;
const MOST_ENTRIES = 10_000;
/** Much later dates are no dates. A run with an earlier date than now would begin before those of others. */
const MOST_SECONDS = 1_000_000_000;
/** How many characters of a place an error names. */
const LONGEST_PATH = 200;

const PLAIN = "must be plain data, without LangChain's serialized form (an object with `lc`)";
/** Where a request says how long a run shall wait. */
const DELAY = /^(?:\[\d+\]\.)?after_seconds$/;
/** Where a request asks to trace its run, or those of its assistant. The server traces them although tracing is off. */
const TRACER = /^(?:\[\d+\]\.|params\.)?(?:langsmith_tracer|config\.configurable\.langsmith_project)$/;
/** What turns tracing with LangSmith on. */
const TRACING_VARIABLES = [
  "LANGSMITH_TRACING",
  "LANGSMITH_TRACING_V2",
  "LANGCHAIN_TRACING",
  "LANGCHAIN_TRACING_V2",
];
const isTracing = TRACING_VARIABLES.some((name) => process.env[name] === "true");
/** The ids that messages have, and had, in LangChain's serialized form. */
const MESSAGE_ID = /^langchain(?:_core|,schema),(?:\w+,)*\w*Message(?:Chunk)?$/;
const IMPORTS = { schema: messages, schema__messages: messages };

/** Refuses a body that would block the server, or damage its files. */
export const checkBody: MiddlewareHandler = async ({ req }, next) => {
  if (req.raw.body === null) return await next();
  const text = await req.text();
  const { levels, values } = sizeOf(text);
  if (levels > MOST_LEVELS_OF_BODY)
    throw tooLarge(`The body of a request may be nested at most ${MOST_LEVELS_OF_BODY} levels deep.`);
  if (values > MOST_VALUES) throw tooLarge(`The body of a request may have at most ${MOST_VALUES} values.`);
  // All are found before one is read, because reading makes an instance of whatever is inside.
  for (const [place, form] of [...serializedIn(parseJson(text), "")]) {
    const read: unknown = await load(JSON.stringify(form), { importMap: IMPORTS }).catch(() => undefined);
    if (!messages.BaseMessage.isInstance(read)) throw refusal(place, PLAIN);
  }
  await next();
};

/** Nothing limits what is sent over a WebSocket, and nothing checks what it asks for. */
export const refuseSocket: Handler = () => {
  throw new HTTPException(403, {
    message:
      "This server has no WebSockets. Use the event protocol over HTTP, which is the default of the SDK.",
  });
};

/**
 * The event protocol takes any text for the id of a thread. With such an id, which is a name in the server's file, nothing
 * of anybody is saved any more.
 */
export const refuseReservedId: MiddlewareHandler = async ({ req }, next) => {
  const thread = req.param("thread") ?? "";
  if (RESERVED_NAMES.has(thread)) throw refusal("thread_id", "must not be a name that JavaScript reserves");
  await next();
};

/** Refuses to delete a run that goes on, or what it needs. Runs that wait can be deleted. */
export const refuseWhileRunning: Handler = async (context, next) => {
  const { thread, run, assistant } = context.req.param();
  const { assistants, runs, threads } = await clientOfThisServer(context.req.raw);
  for (const id of thread === undefined ? await threadsOf(assistant ?? "") : [thread]) {
    const running = await runs.list(id, { status: "running" }).catch(() => []);
    if (running.some((each) => (run ?? each.run_id) === each.run_id && !runOwners.isCutOff(each)))
      throw new HTTPException(409, {
        message: `A run of the thread ${id} goes on. Cancel it, or wait until it has ended, and try again.`,
      });
  }
  await next();

  async function threadsOf(name: string): Promise<ReadonlySet<string>> {
    const found = await assistants.get(name).catch(() => undefined);
    const id = found?.assistant_id ?? "";
    const used = runOwners.threadsOf(id);
    if (context.req.query("delete_threads") !== "true") return new Set(used);
    const made = await idsOfThreads(threads, { metadata: { assistant_id: id } }).catch(() => []);
    return new Set([...used, ...made]);
  }
};

/** Counts in one pass, because a parser needs seconds for a body that is nested millions of levels deep. */
function sizeOf(json: string): { readonly levels: number; readonly values: number } {
  let [open, levels, values] = [0, 0, 1];
  let isInString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (isInString && character === "\\") index += 1;
    else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === "]" || character === "}") open -= 1;
    else if (character === ",") values += 1;
    else if (character === "[" || character === "{") {
      open += 1;
      values += 1;
      levels = Math.max(levels, open);
    }
  }
  return { levels, values };
}

/** The places of messages in LangChain's serialized form, which clients with its classes send. Throws for what is refused. */
function* serializedIn(value: unknown, path: string): Generator<readonly [place: string, form: object]> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value) && value.length > MOST_ENTRIES)
    throw tooLarge(`${quoted(path)} may have at most ${MOST_ENTRIES} entries. It has ${value.length}.`);
  if (isSerializedForm(value)) {
    if (!MESSAGE_ID.test(String(Reflect.get(value, "id")))) throw refusal(path, PLAIN);
    yield [path, value];
  }
  for (const [key, item] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    if (RESERVED_NAMES.has(key)) throw refusal(place, "must have another name: JavaScript reserves this one");
    if (typeof item === "number" && DELAY.test(place) && (item < 0 || item > MOST_SECONDS))
      throw refusal(place, `must be from 0 to ${MOST_SECONDS}`);
    if (item !== null && TRACER.test(place) && !isTracing)
      throw refusal(place, "must not be sent: this server sends nothing to LangSmith");
    yield* serializedIn(item, place);
  }
}

function quoted(path: string): string {
  return path === "" ? "The body of the request" : `\`${shortened(path, LONGEST_PATH)}\``;
}

function refusal(path: string, demand: string): HTTPException {
  return new HTTPException(422, { message: `${quoted(path)} ${demand}.` });
}

function tooLarge(message: string): HTTPException {
  return new HTTPException(413, { message });
}

/*
 * Names that LangGraph's development server cannot write into the file in which it keeps the threads of all users: as long
 * as an object of one thread has such a name, nothing of anybody is saved.
 */

const RESERVED_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Refuses calls with such a name in their arguments. The server keeps the arguments of a call that waits for approval as
 * they are. Messages are written in another form, which can have these names.
 */
export const refuseReservedNames: ChatMiddleware = chatMiddleware(
  async function refuseReservedNames(context, next) {
    await next();
    const { result } = context;
    const calls = result?.tool_calls ?? [];
    const refused = calls.filter(({ args }) => hasReservedName(args));
    if (result === undefined || refused.length === 0) return;
    const error = `they must not have the names ${[...RESERVED_NAMES].map((name) => `\`${name}\``).join(", ")}`;
    const invalid = refused.map(({ args, ...call }) => ({
      ...call,
      args: JSON.stringify(args),
      error,
      type: "invalid_tool_call" as const,
    }));
    context.result = copyMessage(result, {
      tool_calls: calls.filter((call) => !refused.includes(call)),
      invalid_tool_calls: [...(result.invalid_tool_calls ?? []), ...invalid],
    });
  },
);

function hasReservedName(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => RESERVED_NAMES.has(name) || hasReservedName(item));
}
