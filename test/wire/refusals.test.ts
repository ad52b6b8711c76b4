/** The error of a run whose request was refused by the provider, over HTTP with the real clients. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { toModelError } from "../../src/providers/failure/model-failure.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { pairedScript, user } from "../support/thread.js";
import { clientOf, PROVIDERS } from "./clients.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider(({ messages }) =>
    messages.at(-1)?.role === "user" && messages.length === 1
      ? { calls: [{ name: "look", args: { city: "Oslo" } }] }
      : { text: ANSWER },
  );
});
afterAll(() => strict.stop());

const looked: string[] = [];
const look = tool(
  ({ city }) => {
    looked.push(city);
    return `${city}: clear`;
  },
  { name: "look", description: "Looks at the sky.", schema: z.object({ city: z.string() }) },
);

/** A client of OpenAI's address whose requests are redirected to another provider. */
function misdirected(provider: ProviderName): ChatOpenAI {
  const baseURL = "https://api.openai.com/v1";
  return new ChatOpenAI({
    model: "gpt-5",
    apiKey: "test-key",
    configuration: {
      baseURL,
      fetch: (url, init) => fetch(String(url).replace(baseURL, `${strict.url(provider)}/v1`), init),
    },
  });
}

const failureOf = (run: Promise<unknown>) =>
  run.then(
    () => expect.unreachable("It was accepted."),
    (error: unknown) => error,
  );

describe("a history that the provider refuses", () => {
  it("fails the run after one request and names the rule; the thread stays usable", async () => {
    const checkpointer = new MemorySaver();
    const thread = { configurable: { thread_id: "1" } };
    const agent = (model: ChatOpenAI) => createAgentGraph({ model, tools: [look], checkpointer });
    const wrong = agent(misdirected("mistral"));
    strict.failNext();
    const error = await failureOf(wrong.invoke(user("How is the sky over Oslo?"), thread));

    expect(strict.statuses).toEqual([200, 400]);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({
      code: "MODEL_FAILED",
      status: 400,
      brokenRule: {
        dialect: "mistral",
        rule: "call-id",
        index: 1,
        message: expect.stringMatching(
          /^Tool call id was call_[\w-]+ but must be a-z, A-Z, 0-9, with a length of 9\.$/,
        ),
      },
    });
    // OpenAI's client drops an error that is not in OpenAI's form.
    const { message } = error as ModelError;
    expect(message.replace(/call_[\w-]+/, "call_1")).toBe(
      "The provider refused the request with status 400: no reason given (`messages[1]` breaks the rule `call-id`, required by the dialect `mistral`: Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.)",
    );
    expect((error as ModelError).cause).toMatchObject({ status: 400, name: "BadRequestError" });
    const before = ["human: How is the sky over Oslo?", "ai> look", "tool: Oslo: clear"];
    expect(pairedScript((await wrong.getState(thread)).values)).toEqual(before);

    const right = agent(
      new ChatOpenAI({
        model: "mistral-small",
        apiKey: "test-key",
        configuration: { baseURL: `${strict.url("mistral")}/v1` },
      }),
    );
    expect(pairedScript(await right.invoke(user("And now?"), thread))).toEqual([
      ...before,
      "human: And now?",
      `ai: ${ANSWER}`,
    ]);
    expect(looked).toEqual(["Oslo"]);
    expect(strict.statuses).toEqual([200, 400, 200]);
  });
});

const call = (id: string) =>
  new AIMessage({
    content: "",
    tool_calls: [{ id, name: "look", args: {}, type: "tool_call" }],
    // DeepSeek checks this first.
    additional_kwargs: { reasoning_content: "" },
  });
/** Each history breaks a rule of every provider. */
const BROKEN: readonly (readonly [rule: string, messages: BaseMessage[], index: number])[] = [
  ["missing-result", [new HumanMessage("x"), call("abcdefgh1"), new HumanMessage("y")], 1],
  [
    "orphan-result",
    [new HumanMessage("x"), new ToolMessage({ content: "z", tool_call_id: "abcdefgh1", name: "look" })],
    1,
  ],
];

it("A request that is too long is not explained by a rule of another provider", async () => {
  const model = await clientOf("anthropic", strict);
  const messages = [
    new HumanMessage("x"),
    call("toolu_1"),
    new ToolMessage({ content: "z", tool_call_id: "toolu_1", name: "look" }),
  ];
  const error = {
    type: "invalid_request_error",
    message: "prompt is too long: 208310 tokens > 200000 maximum",
  };
  strict.failNext({ status: 400, body: { type: "error", error } });
  const raw = await failureOf(model.invoke(messages));
  expect(toModelError(raw, { model, messages })).toMatchObject({
    status: 400,
    brokenRule: undefined,
    message: expect.not.stringContaining("breaks the rule"),
  });
});

describe.each(PROVIDERS)("the refusal of %s", (provider) => {
  // Mistral's client itself leaves out a call without a result.
  const broken = BROKEN.filter(([rule]) => provider !== "mistral" || rule !== "missing-result");
  it.each(broken)("names the rule %s, its own dialect and the place", async (rule, messages, index) => {
    const model = await clientOf(provider, strict);
    strict.failNext();
    const raw = await failureOf(model.invoke(messages));
    const error = toModelError(raw, { model, messages });
    expect(strict.statuses).toEqual([400]);
    // The test server is not OpenAI's host.
    const dialect = provider === "openai" ? "openai-compatible" : provider;
    // DashScope's native client hides the status.
    expect(error).toMatchObject({
      status: provider === "dashscope-native" ? undefined : 400,
      brokenRule: { rule, index, dialect },
    });
    expect(String(error)).toContain(`\`messages[${index}]\` breaks the rule \`${rule}\``);
  });

  it("for another reason is reported briefly, with the provider's text", async () => {
    const model = await clientOf(provider, strict);
    const words = `The model is not there. ${"Really. ".repeat(200)}`;
    const body = { code: "ModelNotFound", message: words, error: { message: words } };
    strict.failNext({ status: 404, body });
    const messages = [new HumanMessage("x")];
    const raw = await failureOf(model.invoke(messages));
    const error = toModelError(raw, { model, messages }) as ModelError;
    expect(error.brokenRule).toBeUndefined();
    expect(error.message).toContain("The model is not there. Really. Really.");
    expect(error.message.length).toBeLessThan(600);
  });

  it("reaches the caller of a run, with its status and the provider's text", async () => {
    const graph = createAgentGraph({ model: await clientOf(provider, strict) });
    const words = "The model is not there.";
    strict.failNext({
      status: 404,
      body: { code: "ModelNotFound", message: words, error: { message: words } },
    });
    const error = await failureOf(graph.invoke(user("Are you there?")));
    expect(error).toMatchObject({ status: 404, message: expect.stringContaining(words) });
  });
});
