/**
 * The faults of others that this library works around, each shown by the other package alone. A test that fails says
 * that its fault is gone: remove the workaround, its row in `docs/upstream.md`, and the case here.
 */

import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogle } from "@langchain/google/node";
import { Annotation, DeltaChannel, END, Send, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatMistralAI } from "@langchain/mistralai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod/v4";
import { anthropicAt, geminiAt, openAIAt, responsesAt } from "../support/clients.js";
import { deferred } from "../support/deferred.js";
import { listen } from "../support/listen.js";
import { anthropic, gemini, openAI, serve } from "../support/strict-provider/serve-responses.js";

type Fields = Readonly<Record<string, unknown>>;

const KEY = { apiKey: "key", maxRetries: 0 };
const HELLO = new HumanMessage("Hello!");
const CALL = { type: "tool_call", id: "call_1", name: "look", args: {} } as const;
const RESULT = new ToolMessage({ tool_call_id: "call_1", name: "look", content: "It is clear." });

/** The first request for a thread that ends with a result of this message's call. */
async function requestAfter(
  message: AIMessage,
  ask: (url: string) => { invoke(input: BaseMessage[]): unknown },
) {
  const { url, requests } = await serve(() => undefined, [anthropic([{ type: "text", text: "Done." }])]);
  await Promise.resolve(ask(url).invoke([HELLO, message, RESULT])).catch(() => {});
  return bodyOf(requests);
}

/** @throws Error if nothing was sent, which would look like a field that is not sent. */
function bodyOf([request]: readonly { readonly body: Fields }[]): string {
  if (request === undefined) throw new Error("Expected a request.");
  return JSON.stringify(request.body);
}

/** A server that answers each request as it is told. */
async function answering(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  });
  const { url, stop } = await listen(server);
  onTestFinished(stop);
  return url;
}

const json = (status: number, body: unknown) => (response: ServerResponse) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

const messageOf = (asking: Promise<unknown>): Promise<string> =>
  asking.then(
    () => "",
    (error: unknown) => String(error),
  );

/** The promises that were rejected and that nobody handled, while this ran. */
async function unhandledIn(run: () => Promise<unknown>): Promise<number> {
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  let count = 0;
  const note = () => {
    count += 1;
  };
  process.on("unhandledRejection", note);
  try {
    await run().catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.removeListener("unhandledRejection", note);
    for (const listener of listeners) process.on("unhandledRejection", listener);
  }
  return count;
}

/** The signals of the requests that were sent while this ran, and whether each knew of the abort. */
async function knewOfAbort(ask: (url: string, signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
  const controller = new AbortController();
  const arrived = deferred<void>();
  const url = await answering(() => arrived.resolve());
  const signals: (AbortSignal | null | undefined)[] = [];
  const send = globalThis.fetch;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    signals.push(input instanceof Request ? input.signal : init?.signal);
    return send(input, init);
  });
  onTestFinished(() => spy.mockRestore());
  void ask(url, controller.signal).catch(() => {});
  await arrived.promise;
  controller.abort();
  return signals.every((signal) => signal?.aborted === true);
}

const BLOCKED = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };

async function chunksOf(stream: Promise<AsyncIterable<BaseMessage>>): Promise<BaseMessage[]> {
  const chunks: BaseMessage[] = [];
  for await (const chunk of await stream) chunks.push(chunk);
  return chunks;
}

const googleAt = (url: string, more: object = {}) => {
  const send = globalThis.fetch;
  const fetchHere: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    return send(url + pathname + search, { method, headers, body: await request.text() });
  };
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation(fetchHere);
  onTestFinished(() => spy.mockRestore());
  return new ChatGoogle({ model: "gemini-2.5-flash", ...KEY, ...more });
};

/** Whether the fault shows. The titles are the first column of the table in `docs/upstream.md`. */
const FAULTS: Readonly<Record<string, () => Promise<boolean>>> = {
  "An error whose body has no `error` is read as empty": async () => {
    const url = await answering(json(400, { detail: "It is too long." }));
    return !(await messageOf(openAIAt(url).invoke([HELLO]))).includes("too long");
  },
  "A text that is not in the format of a structured response is lost": async () => {
    const message = { role: "assistant", content: "It is Oslo." };
    const choices = [{ index: 0, finish_reason: "stop", message }];
    const url = await answering(json(200, { id: "1", object: "chat.completion", model: "gpt-5", choices }));
    const response_format = { type: "json_schema" as const, json_schema: { name: "city", schema: {} } };
    return (await messageOf(openAIAt(url).invoke([HELLO], { response_format }))).startsWith("SyntaxError");
  },
  "Reasoning is not sent back": async () => {
    const message = new AIMessage({
      content: "",
      tool_calls: [CALL],
      additional_kwargs: { reasoning_content: "Hm." },
    });
    const sent = await requestAfter(
      message,
      (url) => new ChatDeepSeek({ model: "deepseek-chat", ...KEY, configuration: { baseURL: url } }),
    );
    return !sent.includes("Hm.");
  },
  "Encrypted reasoning of a stream is lost": async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "secret" };
    const text = {
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi", annotations: [] }],
    };
    const answer = openAI(reasoning, text);
    const events = answer.events.map((event): Fields => {
      const { item } = event;
      const isBegin = event["type"] === "response.output_item.added" && Object(item).type === "reasoning";
      return isBegin ? { ...event, item: { ...reasoning, encrypted_content: undefined } } : event;
    });
    const { url } = await serve(() => undefined, [{ ...answer, events }]);
    const chunks = await chunksOf(responsesAt(`${url}/v1`).stream([HELLO]));
    return !chunks.some(({ additional_kwargs }) => JSON.stringify(additional_kwargs).includes("secret"));
  },
  "The namespace of a call is not sent": async () => {
    const message = new AIMessage({
      content: "",
      tool_calls: [{ ...CALL, namespace: "skies" } as typeof CALL],
    });
    return !(await requestAfter(message, (url) => responsesAt(url))).includes("skies");
  },
  "A call without a text is sent with an empty one": async () => {
    const sent = await requestAfter(new AIMessage({ content: "", tool_calls: [CALL] }), (url) =>
      responsesAt(url),
    );
    return JSON.parse(sent).input.some(({ type, content }: Fields) => type === "message" && content === "");
  },
  "Results of MCP tools are not sent": async () => {
    const content = [
      { type: "mcp_tool_use", id: "mcp_1", name: "search", server_name: "web", input: {} },
      { type: "mcp_tool_result", tool_use_id: "mcp_1", content: [{ type: "text", text: "Found." }] },
    ];
    return !(await requestAfter(new AIMessage({ content, tool_calls: [CALL] }), anthropicAt)).includes(
      "Found.",
    );
  },
  "Calls of MCP tools are lost in a stream": async () => {
    const call = {
      type: "mcp_tool_use",
      id: "mcp_1",
      name: "search",
      server_name: "web",
      input: { q: "Oslo" },
    };
    const { url } = await serve(() => undefined, [anthropic([call, { type: "text", text: "Done." }])]);
    const chunks = await chunksOf(anthropicAt(url).stream([HELLO]));
    const whole = chunks.reduce((one, next) =>
      (one as never as { concat(x: unknown): BaseMessage }).concat(next),
    );
    return !JSON.stringify(whole.content).includes("mcp_1");
  },
  "The input of a tool that the provider runs becomes a nameless call": async () => {
    const call = { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "Oslo" } };
    const { url } = await serve(() => undefined, [anthropic([call, { type: "text", text: "Done." }])]);
    const chunks = await chunksOf(anthropicAt(url).stream([HELLO]));
    return chunks.some((chunk) => (Object(chunk).tool_call_chunks ?? []).length > 0);
  },
  "The caller of a call is not sent": async () => {
    const caller = { type: "code_execution_20250825", tool_id: "srv_1" };
    const message = new AIMessage({ content: "", tool_calls: [{ ...CALL, caller } as typeof CALL] });
    return !(await requestAfter(message, anthropicAt)).includes("code_execution");
  },
  "A request in one piece is not aborted (Google)": async () =>
    !(await knewOfAbort((url, signal) => geminiAt(url).invoke([HELLO], { signal }))),
  "A blocked prompt has no response (`ChatGoogleGenerativeAI`)": async () => {
    const url = await answering((response) => {
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(`data: ${JSON.stringify(BLOCKED)}\n\n`);
    });
    const chunks = await chunksOf(geminiAt(url).stream([HELLO])).catch(() => []);
    return !JSON.stringify(chunks).includes("PROHIBITED_CONTENT");
  },
  "A broken stream rejects a promise that nobody handles": async () => {
    const url = await answering((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write('data: {"cand');
      response.end();
    });
    return (await unhandledIn(() => chunksOf(geminiAt(url).stream([HELLO])))) > 0;
  },
  "A part of an unknown kind is refused": async () => {
    const content = [{ videoMetadata: { fps: 1 } }] as never;
    const { url, requests } = await serve(() => undefined, [gemini([{ text: "Done." }])]);
    await geminiAt(url)
      .invoke([HELLO, new AIMessage({ content }), HELLO])
      .catch(() => {});
    return !JSON.stringify(requests).includes("videoMetadata");
  },
  "A call of another model is not sent": async () => {
    const { url, requests } = await serve(() => undefined, [gemini([{ text: "Done." }])]);
    const message = new AIMessage({ content: "", tool_calls: [CALL] });
    await googleAt(url)
      .invoke([HELLO, message, RESULT])
      .catch(() => {});
    return !bodyOf(requests).includes("functionCall");
  },
  "A blocked prompt has no response (`ChatGoogle`)": async () => {
    const url = await answering((response) => {
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(`data: ${JSON.stringify(BLOCKED)}\n\n`);
    });
    const chunks = await chunksOf(googleAt(url).stream([HELLO])).catch(() => []);
    return !JSON.stringify(chunks).includes("PROHIBITED_CONTENT");
  },
  "A call is also a block without an id (`v1`)": async () => {
    const { url } = await serve(() => undefined, [gemini([{ functionCall: { name: "look", args: {} } }])]);
    const chunks = await chunksOf(googleAt(url, { outputVersion: "v1" }).stream([HELLO]));
    const blocks = chunks.flatMap(({ content }): unknown[] => (typeof content === "string" ? [] : content));
    return blocks.some((block) => Object(block).type === "tool_call" && Object(block).id === undefined);
  },
  "A request with a signal is streamed": async () => {
    const { url, requests } = await serve(() => undefined, []);
    const model = new ChatMistralAI({ model: "mistral-large-latest", ...KEY, serverURL: url });
    await model.invoke([HELLO], { signal: new AbortController().signal }).catch(() => {});
    return requests[0]?.body["stream"] === true;
  },
  "A request is not aborted (Mistral)": async () =>
    !(await knewOfAbort((url, signal) =>
      new ChatMistralAI({ model: "mistral-large-latest", ...KEY, serverURL: url }).invoke([HELLO], {
        signal,
      }),
    )),
  "A cut body rejects a promise that nobody handles": async () => {
    const url = await answering((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"id": "1", "choi');
    });
    const model = new ChatMistralAI({ model: "mistral-large-latest", ...KEY, serverURL: url });
    return (await unhandledIn(() => model.invoke([HELLO]))) > 0;
  },
  "The words of a refusal are lost": async () => {
    const url = await answering(json(400, { message: "It is too long." }));
    const model = new ChatAlibabaTongyi({
      model: "qwen-max",
      alibabaApiKey: "key",
      maxRetries: 0,
      apiUrl: url,
    });
    return !(await messageOf(model.invoke([HELLO]))).includes("too long");
  },
  "With `maxConcurrency: 1`, only the first task of several runs": async () => {
    const seen = Annotation<number[]>({ reducer: (all, more) => [...all, ...more], default: () => [] });
    const graph = new StateGraph(Annotation.Root({ seen }))
      .addNode("work", ({ place }: { place: number }) => ({ seen: [place] }), { ends: [END] } as object)
      .addConditionalEdges(START, () => [1, 2, 3].map((place) => new Send("work", { place })))
      .compile();
    return (await graph.invoke({ seen: [] }, { maxConcurrency: 1 })).seen.length < 3;
  },
  "A delta channel is replayed in another order": async () => {
    const steps = new DeltaChannel<string[], string>((before, added) => [...(before ?? []), ...added]);
    const names = ["a", "b", "c", "d", "e", "f"];
    const builder = new StateGraph(Annotation.Root({ steps: () => steps as never }));
    for (const name of names) {
      builder.addNode(name, () => ({ steps: name }) as never);
      builder.addEdge(START, name as never);
    }
    const graph = builder.compile({ checkpointer: SqliteSaver.fromConnString(":memory:") });
    const orders = names.slice(0, 3).map(async (thread_id) => {
      const config = { configurable: { thread_id } };
      const written = await graph.invoke({} as never, config);
      const { values } = await graph.getState(config);
      return JSON.stringify(written) === JSON.stringify(values);
    });
    return (await Promise.all(orders)).includes(false);
  },
  "Two branches of a thread share the values of one": async () => {
    const saver = new PostgresSaver({} as never);
    // A branch writes a version that another one has, and the table keeps the first value.
    const { UPSERT_CHECKPOINT_BLOBS_SQL = "" } = { ...saver["SQL_STATEMENTS"] };
    return saver.getNextVersion(1) === 2 && /DO NOTHING/.test(UPSERT_CHECKPOINT_BLOBS_SQL);
  },
  "What a tool returns after an abort is lost": async () => {
    const controller = new AbortController();
    const started = deferred<void>();
    const end = deferred<string>();
    const look = tool(
      () => {
        started.resolve();
        return end.promise;
      },
      { name: "look", schema: z.object({}) },
    );
    const looked = look.invoke({}, { signal: controller.signal }).catch(() => "lost");
    await started.promise;
    controller.abort();
    end.resolve("It is clear.");
    return (await looked) === "lost";
  },
};

describe("a fault of others shows without this library", () => {
  it.each(Object.entries(FAULTS))("%s", async (_, shows) => {
    expect(await shows()).toBe(true);
  });

  it("is in the table of documented faults, and no other is", () => {
    const table = readFileSync(new URL("../../docs/upstream.md", import.meta.url), "utf8");
    const rows = [...table.matchAll(/^\| (?!fault|---)(.*?) \|/gm)].map(([, title]) => title);
    expect(rows.toSorted()).toEqual(Object.keys(FAULTS).toSorted());
  });
});
