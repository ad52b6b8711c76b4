/** Providers that refuse a picture, or refuse by a rule that no document names, and hosts that say nothing. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { StoredMessage } from "@langchain/core/messages";
import { listen } from "../../test/support/listen.js";
import { ANSWER, startStrictProvider } from "../../test/support/strict-provider/start-strict-provider.js";
import type { Host, ToolSpec } from "../adapter.js";
import { human, humanWithPicture, picturesOfStored, textOfStored } from "../stored.js";
import { type Case, DASH, fault, messageOf, type Outcome, PASS, type Suite, withinTime } from "../suite.js";

/** A request, as far as the cases read it. */
interface Asked {
  /** Of all turns, without the instructions, each as JSON. */
  readonly messages: readonly string[];
  /** The position of the last message of the user that is no result. */
  readonly turn: number;
  readonly hasPicture: boolean;
}

/** What a host does with a request. A text: it refuses the request with these words. */
type Trouble = string | "pass" | "silent" | "silent in its stream";

/** One conversation. Contract of `meet`: called for each request, with the number of the turn. */
interface Conversation {
  readonly id: string;
  readonly source?: string;
  readonly hosts: readonly Host[];
  readonly turns: readonly StoredMessage[];
  readonly meet: (asked: Asked, turn: number) => Trouble;
  readonly idleMs?: number;
}

const PICTURE = {
  mimeType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAEklEQVR4nGNgGAWjYBSMghEGAAAEEAABcKkjRwAAAABJRU5ErkJggg==",
};

const LOOK_AT_IT = humanWithPicture("What is in this picture?", PICTURE);
const READ_IT = "Read it.";
const READ: ToolSpec = {
  name: "read",
  description: "Reads a file.",
  schema: { type: "object", properties: {} },
  run: () => "The file is empty.",
};

/** The words of each host for a picture that it cannot read. */
const PICTURE_WORDS: readonly (readonly [host: Host, words: string, source: string])[] = [
  [
    "openai",
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "https://github.com/openai/openai-node/issues/1463",
  ],
  [
    "openai-responses",
    "The image data you provided does not represent a valid image. Please check your input.",
    "https://github.com/acoyfellow/my-ax/issues/69",
  ],
  ["anthropic", "Could not process image", "https://github.com/anthropics/claude-code/issues/8646"],
  [
    "gemini",
    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    "https://github.com/egoist/chatwise-releases/issues/799",
  ],
  ["mistral", "Image input is not enabled for this model", "https://github.com/Huan-zhaojun/mistral-bridge"],
];

const RESULT = /"role":"tool"|"tool_result"|"function_call_output"|"functionResponse"/;
const CALL = /"tool_calls":\[\{|"tool_use"|"function_call"|"functionCall"/;

/** Rules that no document names. Each can be kept with all that the user has written. */
const UNKNOWN_RULES: Readonly<Record<string, (asked: Asked) => boolean>> = {
  "no result before the last message of the user": ({ messages, turn }) =>
    messages.slice(0, turn).some((message) => RESULT.test(message)),
  "no call before the last message of the user": ({ messages, turn }) =>
    messages.slice(0, turn).some((message) => CALL.test(message)),
  "no more than four messages": ({ messages }) => messages.length > 4,
  "no picture": ({ hasPicture }) => hasPicture,
};
const UNKNOWN_WORDS = "Request validation failed (E4711).";

/** A response takes less than this, also on a busy machine. */
const IDLE_MS = 4_000;

const CONVERSATIONS: readonly Conversation[] = [
  ...PICTURE_WORDS.map(
    ([host, words, source]): Conversation => ({
      id: `${host}: refused picture`,
      source,
      hosts: [host],
      turns: [LOOK_AT_IT, human("And without it?"), human("Thanks.")],
      meet: ({ hasPicture }) => (hasPicture ? words : "pass"),
    }),
  ),
  ...(["openai", "openai-responses", "anthropic", "gemini", "mistral"] as const).flatMap((host) =>
    Object.entries(UNKNOWN_RULES).map(
      ([rule, isRefused]): Conversation => ({
        id: `${host}: unknown refusal: ${rule}`,
        hosts: [host],
        turns: [human(READ_IT), LOOK_AT_IT, human("And now?"), human("Thanks.")],
        meet: (asked) => (isRefused(asked) ? UNKNOWN_WORDS : "pass"),
      }),
    ),
  ),
  ...(["openai", "openai-responses", "anthropic"] as const).flatMap((host) =>
    (["silent", "silent in its stream"] as const).map((trouble): Conversation => {
      let isOver = false;
      return {
        id: `${host}: ${trouble}`,
        hosts: [host],
        turns: [human("Hello."), human("Are you there?"), human("And now?")],
        meet: (_asked, turn) => {
          if (turn !== 1 || isOver) return "pass";
          isOver = true;
          return trouble;
        },
        idleMs: IDLE_MS,
      };
    }),
  ),
];

export const refusals: Suite = {
  name: "refusals",
  passes:
    "A provider refuses a picture in its own words, or refuses requests by a rule that no document names, or says nothing once, at the beginning of a response or in the middle. Each message of the user is answered, or its run ends with an error and the next message is answered. Those that have an option for the silence of a model get it.",
  applies: () => true,
  open: async (adapter) => {
    const strict = await startStrictProvider(({ messages }) => {
      const last = messages.at(-1);
      return last?.role === "user" && /Read it\.\W*$/.test(JSON.stringify(last.content))
        ? { calls: [{ name: "read", args: {} }] }
        : { text: ANSWER };
    });
    /** The case that a request belongs to is the first part of its path. */
    const open: ((asked: Asked) => Trouble)[] = [];
    const server = createServer((request, response) => {
      relay(request, response).catch(() => response.destroy());
    });
    const { url, stop } = await listen(server);
    const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = Buffer.concat(await request.toArray()).toString();
      const [, number = "", host = "", ...path] = (request.url ?? "").split("/");
      const trouble = open[Number(number)]?.(readRequest(body)) ?? "pass";
      if (trouble === "silent") return;
      if (trouble !== "pass" && trouble !== "silent in its stream") {
        const error = { type: "invalid_request_error", message: trouble };
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ type: "error", code: error.type, message: trouble, error }));
        return;
      }
      const { host: _, "content-length": _length, connection: _connection, ...headers } = request.headers;
      const answered = await fetch(`${strict.url(host as never)}/${path.join("/")}`, {
        method: "POST",
        headers: headers as Record<string, string>,
        body,
      });
      const text = await answered.text();
      response.writeHead(answered.status, { "content-type": answered.headers.get("content-type") ?? "" });
      if (trouble === "pass") response.end(text);
      else response.write(text.slice(0, text.length / 2));
    };
    const run = async (one: Conversation, number: number): Promise<Outcome> => {
      const [host] = one.hosts;
      if (host === undefined || !adapter.hosts.includes(host)) return DASH;
      let turn = 0;
      const sent: Asked[] = [];
      open[number] = (asked) => {
        sent.push(asked);
        return one.meet(asked, turn);
      };
      const endpoint = { host, url: `${url}/${number}/${host}` };
      const { idleMs } = one;
      const agent = await adapter.open({ endpoint, tools: [READ], ...(idleMs !== undefined && { idleMs }) });
      const seen: unknown[] = [];
      let failure: string | undefined;
      for (; turn < one.turns.length; turn += 1) {
        const message = one.turns[turn] as StoredMessage;
        const before = failure;
        failure = undefined;
        try {
          const answer = await withinTime(agent.send([message]));
          seen.push({ turn, answer, requests: sent.length });
          if (answer !== ANSWER) return fault("The run ended without the model's answer.", one.turns, seen);
        } catch (error) {
          failure = messageOf(error);
          seen.push({ turn, error: failure, requests: sent.length });
          if (before !== undefined) return fault(`After a failed run: ${failure}`, one.turns, seen);
        }
      }
      // A client that sends no picture is refused none.
      const isShown = one.turns.some((message) => picturesOfStored(message).length > 0);
      if (isShown && !sent.some(({ hasPicture }) => hasPicture)) return DASH;
      if (failure !== undefined) return fault(failure, one.turns, seen);
      const all = JSON.stringify(sent.map(({ messages }) => messages));
      const lost = one.turns.map(textOfStored).find((text) => !all.includes(text));
      return lost === undefined ? PASS : fault(`The model did not see "${lost}".`, one.turns, seen);
    };
    return {
      cases: CONVERSATIONS.map(
        (one, number): Case => ({
          id: one.id,
          run: () => run(one, number),
          ...(one.source !== undefined && { source: one.source }),
        }),
      ),
      // Those that hang do nothing.
      concurrency: 8,
      close: async () => {
        await stop();
        await strict.stop();
      },
    };
  },
};

/** In any of the protocols. */
function readRequest(text: string): Asked {
  const body = JSON.parse(text);
  const given: readonly { readonly role?: string }[] = body.messages ?? body.input ?? body.contents ?? [];
  const messages = given
    .filter(({ role }) => role !== "system" && role !== "developer")
    .map((message) => JSON.stringify(message));
  const turn = messages.findLastIndex((message) => /"role":"user"/.test(message) && !RESULT.test(message));
  return { messages, turn, hasPicture: text.includes(PICTURE.data) };
}
