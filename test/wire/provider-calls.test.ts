/**
 * Calls of OpenAI's Responses API that are not calls of the user's tools, over HTTP through the real client: those that
 * the provider has run itself, and those that have an output of their own kind.
 */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { convertMessagesToResponsesInput, customTool } from "@langchain/openai";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createGraphStore, diagnoseThread } from "../../src/doctor.js";
import {
  createAgentGraph,
  explainInput,
  repairHistory,
  toModelInput,
  validateHistory,
} from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { openAIAt } from "../support/clients.js";
import { checkResponses } from "../support/strict-provider/check-responses.js";
import type { Fields, RequestCheck } from "../support/strict-provider/refusal.js";
import { type Answer, openAI, serve, TEXT } from "../support/strict-provider/serve-responses.js";
import { rowsOf } from "../support/test-tools.js";
import { inThread, pairedScript, user } from "../support/thread.js";

const dialect = "openai-responses";
const PIXEL = "data:image/png;base64,AAAA";

const message = {
  type: "message",
  id: "msg_9",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: TEXT, annotations: [] }],
};
const item = (type: string, fields: object): Fields => ({
  type,
  id: `${type}_1`,
  status: "completed",
  ...fields,
});
const searched = item("custom_tool_call", {
  call_id: "xs_call_1",
  name: "x_keyword_search",
  input: '{"query":"Oslo","limit":10}',
});
const wanted = item("function_call", {
  id: "fc_9",
  call_id: "call_1",
  name: "look",
  arguments: '{"city":"Oslo"}',
});

/** Agents, and the calls that their tool ran. */
function createLook() {
  const ran: unknown[] = [];
  const look = tool(
    (args: unknown) => {
      ran.push(args);
      return "clear";
    },
    { name: "look", description: "Looks.", schema: z.object({ city: z.string() }) },
  );
  return { look, ran };
}

type AgentTool = ReturnType<typeof createLook>["look"] | Record<string, unknown>;
type Model = ReturnType<typeof openAIAt>;
const repaired: string[] = [];
const noted = tetherMiddleware({
  onRepair: (repair) => {
    if (repair.kind === "call-closed") repaired.push(repair.call.name);
  },
});

/** All ways to an agent. The last one is without the library. */
const AGENTS = rowsOf<
  [create: (model: Model, tools: AgentTool[]) => Pick<ReturnType<typeof createAgent>, "invoke" | "stream">]
>({
  createAgentGraph: [
    (model, tools) => createAgentGraph({ model, tools, checkpointer: new MemorySaver() }) as never,
  ],
  tetherMiddleware: [
    (model, tools) =>
      createAgent({ model, tools, checkpointer: new MemorySaver(), middleware: [noted] }) as never,
  ],
  "createAgent alone": [
    (model, tools) => createAgent({ model, tools, checkpointer: new MemorySaver() }) as never,
  ],
});
const OURS = AGENTS.slice(0, 2);
const WAYS = [
  ["streamed", { streaming: true }],
  ["complete", { disableStreaming: true }],
] as const;

const modelAt = (url: string, options: object = {}) =>
  openAIAt(`${url}/v1`, { useResponsesApi: true, ...options });

/** Answers in turn, and refuses an unpaired history. Nobody answers the calls with the given ids. */
async function serveOpenAI(answers: readonly Answer[], own: readonly string[] = []) {
  const sent = answers.flatMap(({ body }) => (body as { output: Fields[] }).output);
  const stored = new Set(sent.map(({ id }) => String(id)));
  const check: RequestCheck = (body, ids) => {
    const { input = [] } = body as { input?: Fields[] };
    if (typeof input === "string") return undefined;
    const left = input.filter(({ call_id }) => !own.includes(String(call_id)));
    const extra = input.find(
      ({ type, call_id }) => own.includes(String(call_id)) && /output/.test(String(type)),
    );
    if (extra !== undefined)
      return { status: 400, body: { error: { message: "This call has its output." } } };
    return checkResponses({ input: left }, ids);
  };
  const server = await serve(check, answers, stored);
  const inputAt = (place: number) => server.requests.at(place)?.body["input"] as Fields[];
  return { ...server, inputAt };
}

describe.each(OURS)("A call that the provider has run (%s)", (_, create) => {
  it.each(WAYS)("is not run, and its item is sent back (%s).", async (_way, options) => {
    const { url, requests, inputAt } = await serveOpenAI(
      [openAI(searched, message), openAI(message)],
      ["xs_call_1"],
    );
    const { look, ran } = createLook();
    const agent = create(modelAt(url, options), [look, { type: "x_search" }]);
    const first = await agent.invoke(user("How many?"), inThread("1"));
    expect(requests).toHaveLength(1);
    expect(pairedScript(first)).toEqual(["human: How many?", `ai: ${TEXT}`]);
    expect(ran).toEqual([]);
    const thread = pairedScript(await agent.invoke(user("Sure?"), inThread("1")));
    expect(thread).toHaveLength(4);
    expect(inputAt(1)).toMatchObject([{ role: "user" }, searched, message, { role: "user" }]);
    expect(requests).toHaveLength(2);
    const { messages } = first as unknown as { messages: BaseMessage[] };
    expect(validateHistory([...messages, new HumanMessage("Sure?")], dialect)).toEqual([]);
    expect(repairHistory(messages).repairs).toEqual([]);
  });

  it.each(WAYS)("is not run beside a call that is (%s).", async (_way, options) => {
    const { url, requests, inputAt } = await serveOpenAI(
      [openAI(searched, wanted), openAI(message)],
      ["xs_call_1"],
    );
    const { look, ran } = createLook();
    const agent = create(modelAt(url, options), [look, { type: "x_search" }]);
    const thread = await agent.invoke(user("How many?"), inThread("1"));
    expect(pairedScript(thread)).toEqual(["human: How many?", "ai> look", "tool: clear", `ai: ${TEXT}`]);
    expect(ran).toEqual([{ city: "Oslo" }]);
    expect(requests).toHaveLength(2);
    expect(inputAt(1)).toMatchObject([{ role: "user" }, searched, wanted, { type: "function_call_output" }]);
  });

  it.each(WAYS)("is not run if the response has its output (%s).", async (_way, options) => {
    const output = item("function_call_output", { call_id: "call_1", output: "717,710" });
    const { url, requests, inputAt } = await serveOpenAI([openAI(wanted, output, message), openAI(message)]);
    const { look, ran } = createLook();
    const agent = create(modelAt(url, options), [look]);
    await agent.invoke(user("How many?"), inThread("1"));
    const thread = pairedScript(await agent.invoke(user("Sure?"), inThread("1")));
    expect(ran).toEqual([]);
    expect(thread).toEqual(["human: How many?", `ai: ${TEXT}`, "human: Sure?", `ai: ${TEXT}`]);
    expect(inputAt(1)).toMatchObject([{ role: "user" }, wanted, output, message, { role: "user" }]);
    expect(requests).toHaveLength(2);
  });

  it.each(WAYS)("is told from a call of the user's custom tool (%s).", async (_way, options) => {
    const own = item("custom_tool_call", { call_id: "call_2", name: "write", input: "free text {" });
    const { url, requests, inputAt } = await serveOpenAI([openAI(own, message), openAI(message)]);
    const written: unknown[] = [];
    const write = customTool(
      async (input: unknown) => {
        written.push(input);
        return "written";
      },
      { name: "write", description: "Writes.", format: { type: "text" } },
    );
    const agent = create(modelAt(url, options), [write as never, { type: "x_search" }]);
    await agent.invoke(user("How many?"), inThread("1"));
    expect(requests).toHaveLength(2);
    expect(written).toHaveLength(1);
    expect(inputAt(1).at(-1)).toMatchObject({
      type: "custom_tool_call_output",
      call_id: "call_2",
      output: "written",
    });
  });
});

const shell = item("shell_call", { id: "sh_9", call_id: "call_9", action: { commands: ["ls"] } });
const approval = {
  type: "mcp_approval_request",
  id: "mcpr_9",
  name: "pay",
  arguments: "{}",
  server_label: "bank",
};

/** Calls that the client does not list, and what closes them. */
const UNLISTED = rowsOf<[called: Fields, tool: string, closing: Fields]>({
  shell_call: [
    shell,
    "shell",
    {
      type: "shell_call_output",
      call_id: "call_9",
      output: [
        {
          stdout: "",
          stderr: expect.stringContaining("was not run"),
          outcome: { type: "exit", exit_code: 1 },
        },
      ],
    },
  ],
  local_shell_call: [
    item("local_shell_call", { id: "lsh_9", call_id: "call_9", action: { type: "exec", command: ["ls"] } }),
    "local_shell",
    { type: "local_shell_call_output", call_id: "call_9", output: expect.stringContaining("was not run") },
  ],
  apply_patch_call: [
    item("apply_patch_call", { call_id: "call_9", operation: { type: "delete_file", path: "a" } }),
    "apply_patch",
    {
      type: "apply_patch_call_output",
      call_id: "call_9",
      status: "failed",
      output: expect.stringContaining("not run"),
    },
  ],
  mcp_approval_request: [
    approval,
    "pay",
    {
      type: "mcp_approval_response",
      approval_request_id: "mcpr_9",
      approve: false,
      reason: expect.stringContaining("was not approved"),
    },
  ],
  "a call that nobody knows": [
    item("robot_call", { call_id: "call_9", caller: { type: "program", caller_id: "p" } }),
    "robot",
    {
      type: "robot_call_output",
      call_id: "call_9",
      caller: { type: "program", caller_id: "p" },
      output: expect.stringContaining("was not run"),
    },
  ],
});

describe.each(UNLISTED)("%s", (_, called, name, closing) => {
  const says = { ...message, id: "msg_8" };

  describe.each(OURS)("without an output (%s)", (_agent, create) => {
    it.each(WAYS)(
      "is closed in its own kind when the thread goes on, and that is told once (%s).",
      async (_way, options) => {
        const answers = [openAI(says, called), openAI(message), openAI({ ...message, id: "msg_7" })];
        const { url, requests, inputAt } = await serveOpenAI(answers);
        const agent = create(modelAt(url, options), [createLook().look]);
        const first = pairedScript(await agent.invoke(user("How many?"), inThread("1")));
        expect(first).toEqual(["human: How many?", `ai: ${TEXT}`]);
        repaired.length = 0;
        const events: unknown[] = [];
        for (const input of ["Sure?", "And now?"])
          for await (const event of await agent.stream(user(input), {
            ...inThread("1"),
            streamMode: "custom",
          }))
            events.push(event);
        expect(requests).toHaveLength(3);
        const expected = [{ role: "user" }, says, called, closing, { role: "user" }];
        expect(inputAt(1)).toMatchObject(expected);
        expect(inputAt(2)).toMatchObject([...expected, message, { role: "user" }]);
        const closed = events.filter((event) => Reflect.get(Object(event), "type") === "call-closed");
        expect(closed).toMatchObject([
          { tool: name, callId: closing["call_id"] ?? closing["approval_request_id"] },
        ]);
        expect(repaired).toEqual(_agent === "tetherMiddleware" ? [name] : []);
      },
    );

    it("is closed beside a call that is run.", async () => {
      const { url, requests, inputAt } = await serveOpenAI([openAI(called, wanted), openAI(message)]);
      const { look, ran } = createLook();
      await create(modelAt(url), [look]).invoke(user("How many?"), inThread("1"));
      expect(ran).toEqual([{ city: "Oslo" }]);
      expect(inputAt(1)).toMatchObject([
        { role: "user" },
        called,
        wanted,
        closing,
        { type: "function_call_output", call_id: "call_1" },
      ]);
      expect(requests).toHaveLength(2);
    });
  });

  it("is a fault only in a history that goes on.", async () => {
    const { url } = await serveOpenAI([openAI(says, called)]);
    const response = await modelAt(url).invoke("How many?");
    expect(validateHistory([new HumanMessage("How many?"), response], dialect)).toEqual([]);
    const history = [new HumanMessage("How many?"), response, new HumanMessage("Sure?")];
    expect(validateHistory(history, dialect)).toMatchObject([{ rule: "missing-result", index: 1 }]);
    const input = toModelInput(history, { dialect });
    expect(validateHistory(input, dialect)).toEqual([]);
    expect(explainInput(history, { dialect }).stored[1]).toMatchObject({
      fate: "changed",
      reasons: expect.arrayContaining([expect.objectContaining({ code: "missing-result" })]),
    });
    expect(toModelInput(history, { dialect: "anthropic" }).map(({ type }) => type)).toEqual([
      "human",
      "ai",
      "human",
    ]);
  });

  it("has no other output than that of the provider.", async () => {
    const { call_id } = called;
    const output =
      call_id === undefined
        ? item("mcp_call", { approval_request_id: "mcpr_9", name: "pay" })
        : item(`${called["type"]}_output`, {
            call_id,
            output: called["type"] === "apply_patch_call" ? "" : [],
          });
    const { url, inputAt } = await serveOpenAI([openAI(called, output, says), openAI(message)]);
    const response = await modelAt(url).invoke("How many?");
    const history = [new HumanMessage("How many?"), response, new HumanMessage("Sure?")];
    expect(validateHistory(history, dialect)).toEqual([]);
    await modelAt(url).invoke(toModelInput(history, { dialect }));
    const alone = convertMessagesToResponsesInput({ messages: history, zdrEnabled: false, model: "gpt-5" });
    expect(inputAt(1)).toEqual(alone);
  });
});

it.each([
  ["a call that the provider has run", [searched, message]],
  ["a call that waits for the caller", [shell]],
  ["an approval that waits for a human", [approval]],
])("A thread that ends with %s is sound for the doctor.", async (_, output) => {
  const { url } = await serveOpenAI([openAI({ ...message, id: "msg_8" }, ...output)]);
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model: modelAt(url), tools: [createLook().look], checkpointer });
  await graph.invoke(user("How many?"), inThread("1"));
  const store = createGraphStore({ graph, checkpointer, quietMs: 0 });
  const report = diagnoseThread(await store.read({ threadId: "1", namespace: "" }), { dialect });
  expect(report.findings).toEqual([]);
});

describe.each(AGENTS)("An approval of a user (%s)", (_, create) => {
  it.each([true, false])("is sent as it is (%s).", async (approve) => {
    const { url, requests, inputAt } = await serveOpenAI([
      openAI({ ...message, id: "msg_8" }, approval),
      openAI(message),
    ]);
    const agent = create(modelAt(url), [{ type: "mcp", server_label: "bank" }]);
    await agent.invoke(user("Pay."), inThread("1"));
    const decision = { type: "mcp_approval_response", approval_request_id: "mcpr_9", approve };
    const answer = new HumanMessage({ content: [decision] as never });
    const { messages } = (await agent.invoke({ messages: [answer] }, inThread("1"))) as unknown as {
      messages: BaseMessage[];
    };
    expect(requests).toHaveLength(2);
    expect(inputAt(1)).toEqual([expect.anything(), { ...message, id: "msg_8" }, approval, decision]);
    expect(validateHistory(messages, dialect)).toEqual([]);
  });
});

const computer = item("computer_call", {
  id: "cu_9",
  call_id: "call_9",
  action: { type: "click", x: 1, y: 2, button: "left" },
  pending_safety_checks: [],
});

/** What a user's tool named `computer_use` returns, and what is sent of it. */
const SCREENSHOTS = rowsOf<[returned: unknown, output: object]>({
  "a picture's data": [PIXEL, { type: "input_image", image_url: PIXEL }],
  "a block": [
    [{ type: "image_url", image_url: { url: PIXEL } }],
    { type: expect.stringMatching(/^(input_image|computer_screenshot)$/), image_url: PIXEL },
  ],
  "LangChain's block": [
    [{ type: "image", source_type: "base64", mime_type: "image/png", data: "AAAA" }],
    { type: expect.stringMatching(/^(input_image|computer_screenshot)$/), image_url: PIXEL },
  ],
});

describe.each(OURS)("A call of a computer (%s)", (_, create) => {
  const use = (run: () => unknown) =>
    tool(run as never, { name: "computer_use", description: "Clicks.", schema: z.any() }) as never;
  const reasoning = { type: "reasoning", id: "rs_9", summary: [] };

  it.each(SCREENSHOTS)("gets a screenshot in its own kind (%s).", async (_kind, returned, output) => {
    const { url, requests, inputAt } = await serveOpenAI([openAI(reasoning, computer), openAI(message)]);
    await create(modelAt(url), [use(() => returned)]).invoke(user("Click."), inThread("1"));
    expect(requests).toHaveLength(2);
    const result = { type: "computer_call_output", call_id: "call_9", output };
    expect(inputAt(1)).toMatchObject([{ role: "user" }, reasoning, computer, result]);
  });

  it("gets its own kind, and its words in a message, if its tool returns no picture.", async () => {
    const { url, requests, inputAt } = await serveOpenAI([
      openAI(reasoning, computer),
      openAI(message),
      openAI(message),
    ]);
    const agent = create(modelAt(url), [
      use(() => {
        throw new Error("The browser is gone.");
      }),
    ]);
    await agent.invoke(user("Click."), inThread("1"));
    expect(requests).toHaveLength(2);
    expect(inputAt(1)).toMatchObject([
      { role: "user" },
      reasoning,
      computer,
      { type: "computer_call_output", call_id: "call_9", status: "incomplete" },
      {
        role: "user",
        content: [
          { type: "input_text", text: expect.stringMatching(/The browser is gone|`computer_use` failed/) },
        ],
      },
    ]);
  });
});

describe("A response of the client alone", () => {
  const output = item("function_call_output", { call_id: "call_1", output: "717,710" });

  it.each([
    ["a custom call", [searched, message], ["xs_call_1"]],
    ["a call with its output", [wanted, output, message], []],
  ])("is sent as it is, with what the provider has run (%s).", async (_, items, own) => {
    const { url, inputAt } = await serveOpenAI([openAI(...items), openAI(message)], own);
    const response = await modelAt(url).invoke("How many?");
    const history = [new HumanMessage("How many?"), response, new HumanMessage("Sure?")];
    expect(validateHistory(history, dialect)).toEqual([]);
    const input = toModelInput(history, { dialect });
    expect(validateHistory(input, dialect)).toEqual([]);
    await modelAt(url).invoke(input);
    expect(inputAt(1)).toMatchObject([{ role: "user" }, ...items, { role: "user" }]);
    expect(inputAt(1)).toHaveLength(items.length + 2);
  });

  it("keeps a result that a tool has returned.", async () => {
    const { url } = await serveOpenAI([openAI(searched, message)]);
    const response = await modelAt(url).invoke("How many?");
    const result = new ToolMessage({ tool_call_id: "xs_call_1", content: "found", name: "x_keyword_search" });
    const history = [new HumanMessage("How many?"), response, result, new HumanMessage("Sure?")];
    const input = toModelInput(history, { dialect });
    expect(input.map(({ text }) => text)).toContain("found");
    expect(validateHistory(input, dialect)).toEqual([]);
  });
});

describe("A history with outputs", () => {
  const says = (output: readonly Fields[], fields: object = {}) =>
    new AIMessage({
      content: "",
      response_metadata: { model_provider: "openai", model_name: "gpt-5", output },
      ...fields,
    });
  const go = new HumanMessage("Go on.");
  const output = {
    type: "shell_call_output",
    call_id: "call_9",
    output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
  };

  it.each([
    ["the provider's", says([output])],
    ["a program's", new AIMessage({ content: "", response_metadata: { output: [output] } })],
  ])("is sent as it is if a later message has the output of a call (%s).", (_, answer) => {
    const history = [go, says([shell]), answer, go];
    expect(validateHistory(history, dialect)).toEqual([]);
    expect(toModelInput(history, { dialect })).toEqual(history);
  });

  it("is sent as it is if a tool says that its result is a screenshot.", () => {
    const call = {
      id: "call_9",
      name: "computer_use",
      args: { action: computer["action"] },
      isComputerTool: true,
    };
    const result = new ToolMessage({
      tool_call_id: "call_9",
      content: [{ type: "computer_screenshot", image_url: PIXEL }] as never,
      additional_kwargs: { type: "computer_call_output" },
    });
    const history = [go, says([computer], { tool_calls: [call] }), result, go];
    expect(validateHistory(history, dialect)).toEqual([]);
    expect(toModelInput(history, { dialect })).toEqual(history);
  });

  it("has a placeholder for a call of a computer in its own kind.", () => {
    const call = {
      id: "call_9",
      name: "computer_use",
      args: { action: computer["action"] },
      isComputerTool: true,
    };
    const history = [go, says([computer], { tool_calls: [call] }), go];
    const input = toModelInput(history, { dialect });
    expect(validateHistory(input, dialect)).toEqual([]);
    const items = convertMessagesToResponsesInput({ messages: input, zdrEnabled: false, model: "gpt-5" });
    expect(items).toMatchObject([
      { role: "user" },
      computer,
      { type: "computer_call_output", call_id: "call_9", status: "incomplete" },
      { role: "user", content: [{ text: expect.stringContaining("computer_use") }] },
      { role: "user" },
    ]);
    const other = toModelInput(history, { dialect, modelId: "gpt-4o" });
    const written = convertMessagesToResponsesInput({ messages: other, zdrEnabled: false, model: "gpt-4o" });
    expect(written.map(({ type }) => type)).toContain("function_call_output");
    expect(JSON.stringify(written)).not.toContain("computer_call");
  });

  it("is closed by a late decision only until the next response.", () => {
    const decision = new HumanMessage({
      content: [{ type: "mcp_approval_response", approval_request_id: "mcpr_9", approve: true }] as never,
    });
    const asked = [go, says([approval])];
    expect(toModelInput([...asked, go], { dialect })).not.toEqual([...asked, go]);
    expect(toModelInput([...asked, go, decision], { dialect })).toEqual([...asked, go, decision]);
    expect(validateHistory([...asked, go, decision], dialect)).toEqual([]);
  });

  it("has no call of the client's that somebody has taken out of its list.", () => {
    const named = { additional_kwargs: { __openai_function_call_ids__: { call_1: "fc_9" } } };
    const history = [go, says([wanted, message], { content: [{ type: "text", text: TEXT }], ...named }), go];
    const input = toModelInput(history, { dialect });
    expect(JSON.stringify(input)).not.toContain("call_1");
    expect(validateHistory(input, dialect)).toEqual([]);
  });
});
