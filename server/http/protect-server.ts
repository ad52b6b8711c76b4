/**
 * Refuses requests with which one client would stop LangGraph's development server, or destroy what it keeps for
 * everybody. Each was found with @langchain/langgraph-api 1.5.1:
 *
 * - It keeps all users' threads in one file. Some values make every later save fail, or make the file unreadable; it
 *   then starts with an empty one.
 * - Each of its ten workers ends for good if its run, or that run's thread, was deleted.
 * - Nothing limits what is sent over a WebSocket, and nothing checks whose assistant it names.
 */

import { load } from "@langchain/core/load";
import * as messages from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import type { Run } from "@langchain/langgraph-sdk";
import type { Handler, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { chatMiddleware } from "../../src/agent/middleware/middleware.js";
import { copyMessage } from "../../src/history/message.js";
import { isSerializedForm, MOST_LEVELS } from "../../src/history/storable.js";
import { parseJson, safely } from "../../src/shared/json.js";
import { shortened } from "../../src/shared/text.js";
import { clientOfThisServer, type ServedRun } from "../../src/threads/langgraph/run-host.js";

/** The server cannot read a file that is nested more than 50 levels deep, and puts up to six around a body. */
const MOST_LEVELS_OF_BODY = MOST_LEVELS + 4;
/** Much later dates are not valid. A run with an earlier date than now would begin before others. */
const MOST_SECONDS = 1_000_000_000;
/** How many characters of a place an error shows. */
const LONGEST_PATH = 200;

const PLAIN = "must be plain data, without LangChain's serialized form (an object with `lc`)";
/** Where a request says how long a run shall wait. */
const DELAY = /^(?:\[\d+\]\.)?after_seconds$/;
/** Where a request asks to trace its run, or its assistant's runs. The server traces them although tracing is off. */
const TRACER = /^(?:\[\d+\]\.|params\.)?(?:langsmith_tracer|config\.configurable\.langsmith_project)$/;
/** What turns tracing with LangSmith on. */
const TRACING_VARIABLE = /^LANG(?:SMITH|CHAIN)_TRACING(?:_V2)?=true$/;
const isTracing = Object.entries(process.env).some((variable) => TRACING_VARIABLE.test(variable.join("=")));
/** The ids that messages have, and had, in LangChain's serialized form. */
const MESSAGE_ID = /^langchain(?:_core|,schema),(?:\w+,)*\w*Message(?:Chunk)?$/;
const IMPORTS = { schema: messages, schema__messages: messages };

/** Refuses a body that would damage the server's files. */
export const checkBody: MiddlewareHandler = async ({ req }, next) => {
  // The event protocol takes any text as a thread id, which is a name in the server's file.
  if ((safely(() => decodeURIComponent(req.path)) ?? "").split("/").some((part) => RESERVED_NAMES.has(part)))
    throw refusal("thread_id", "must not be a name that JavaScript reserves");
  if (req.raw.body === null) return await next();
  // All are found before one is read, because reading makes an instance of whatever is inside.
  for (const [place, form] of [...serializedIn(parseJson(await req.text()), "")]) {
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

/** Refuses to delete a run that is running, or what it needs. Runs that wait can be deleted. */
export const refuseWhileRunning: Handler = async (context, next) => {
  const { thread, run, assistant } = context.req.param();
  const { runs } = await clientOfThisServer(context.req.raw);
  if (context.req.query("delete_threads") === "true")
    throw new HTTPException(403, { message: "This server deletes threads one by one." });
  const started = [...begunRuns.values()].filter(({ assistantId }) => assistantId === assistant);
  const threads = thread === undefined ? new Set(started.map(({ threadId }) => threadId)) : [thread];
  for (const id of threads) {
    const running = await runs.list(id, { status: "running" }).catch(() => []);
    if (running.some((each) => (run ?? each.run_id) === each.run_id && !isCutOff(each)))
      throw new HTTPException(409, {
        message: `A run of the thread ${id} is running. Cancel it, or wait until it has ended, and try again.`,
      });
  }
  await next();
};

/** How many runs are kept. Earlier ones are forgotten. */
const MOST_RUNS = 50_000;
/** The runs that have begun in this process. Such a run may have ended. */
const begunRuns = new Map<string, ServedRun>();

export function noteBegun(run: ServedRun): void {
  begunRuns.set(run.runId, run);
  const [first] = begunRuns.keys();
  if (begunRuns.size > MOST_RUNS && first !== undefined) begunRuns.delete(first);
}

/** Whether a run ended with an earlier server process. The server says for ever that it is running. */
function isCutOff({ run_id, created_at }: Run): boolean {
  return Date.parse(created_at) < performance.timeOrigin && !begunRuns.has(run_id);
}

/**
 * The places of messages in LangChain's serialized form, which clients with its classes send. Throws for what is
 * refused.
 */
function* serializedIn(
  value: unknown,
  path: string,
  levels = 1,
): Generator<readonly [place: string, form: object]> {
  if (typeof value !== "object" || value === null) return;
  if (levels > MOST_LEVELS_OF_BODY)
    throw refusal(path, `is nested more than ${MOST_LEVELS_OF_BODY} levels deep`);
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
    yield* serializedIn(item, place, levels + 1);
  }
}

function refusal(path: string, demand: string): HTTPException {
  const place = path === "" ? "The body of the request" : `\`${shortened(path, LONGEST_PATH)}\``;
  return new HTTPException(422, { message: `${place} ${demand}.` });
}

/*
 * Names that LangGraph's development server cannot write into the file with all users' threads. While an object in one
 * thread has such a name, nobody's threads are saved.
 */

const RESERVED_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Refuses calls with such a name in their arguments. The server keeps a call's arguments as they are while it waits for
 * approval. Messages are written in another form, which can have these names.
 */
export const refuseReservedNames = chatMiddleware(async function refuseReservedNames(context, next) {
  await next();
  const { tool_calls: calls = [], invalid_tool_calls: before = [] } = context.result ?? {};
  const refused = calls.filter(({ args }) => hasReservedName(args));
  if (context.result === undefined || refused.length === 0) return;
  const type = "invalid_tool_call" as const;
  const error = `they must not have the names ${[...RESERVED_NAMES].map((name) => `\`${name}\``).join(", ")}`;
  const asText = ({ args, ...call }: ToolCall) => ({ ...call, args: JSON.stringify(args), error, type });
  context.result = copyMessage(context.result, {
    tool_calls: calls.filter((call) => !refused.includes(call)),
    invalid_tool_calls: [...before, ...refused.map(asText)],
  });
});

function hasReservedName(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => RESERVED_NAMES.has(name) || hasReservedName(item));
}
