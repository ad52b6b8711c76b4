/** What a caller of an agent catches: LangChain wraps each error that passes through a middleware. */

import { HumanMessage } from "@langchain/core/messages";
import { MessagesZodState } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { InvalidStateError, ModelError, TetherError, ThreadConflictError } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { anthropicAt, openAIAt } from "../support/clients.js";
import { OpenAILike } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { user } from "../support/thread.js";

const strict = stopAtEnd(await startStrictProvider());

const passing = (name: string) =>
  createMiddleware({ name, wrapModelCall: async (request, handler) => handler(request) });

async function thrownBy(model: object, middleware: readonly AgentMiddleware[]): Promise<unknown> {
  const agent = createAgent({ model: model as never, middleware: [...middleware] });
  return agent.invoke({ messages: "Hello?" } as never).then(
    () => expect.unreachable("It was accepted."),
    (error: unknown) => error,
  );
}

describe("An error of an agent with the middleware", () => {
  const others = Array.from({ length: 8 }, (_, index) => passing(`other-${index}`));
  it.each([
    ["alone", []],
    ["behind eight others", others],
  ])("is found with its fields: %s", async (_title, before) => {
    strict.failNext({ status: 500 });
    const model = openAIAt(`${strict.url("openai")}/v1`);
    const thrown = await thrownBy(model, [...before, tetherMiddleware()]);
    expect(ModelError.from(thrown)).toMatchObject({ code: "MODEL_FAILED", status: 500 });
    expect(TetherError.from(thrown)).toBe(ModelError.from(thrown));
    expect([TetherError, ModelError, ThreadConflictError].map((kind) => kind.isInstance(thrown))).toEqual([
      true,
      true,
      false,
    ]);
    // LangChain's wrapper has no fields, which is why it must be looked for.
    if (before.length > 0) expect(thrown).not.toHaveProperty("status");
  });

  it("is the client's own if its client failed, and ours if the response was broken", async () => {
    const failing = new OpenAILike(() => Object.assign(new RangeError("busy"), { status: 503 }));
    const thrown = await thrownBy(failing, [tetherMiddleware()]);
    expect([thrown]).toEqual([expect.any(RangeError)]);
    expect(thrown).toMatchObject({ message: "busy", status: 503 });
    const empty = await thrownBy(new OpenAILike(() => ""), [tetherMiddleware()]);
    expect(empty).toMatchObject({ name: "ModelError", code: "MODEL_FAILED", status: undefined });
  });

  it("says to nobody but LangChain that it is a signal", async () => {
    const seen: unknown[] = [];
    const listening = createMiddleware({
      name: "listening",
      wrapModelCall: (request, handler) =>
        Promise.resolve(handler(request)).catch((error: unknown) => {
          seen.push(error, "is_bubble_up" in Object(error));
          throw error;
        }),
    });
    const error = Object.assign(new Error("busy"), { status: 503 });
    const thrown = await thrownBy(new OpenAILike(() => error), [listening, tetherMiddleware()]);
    expect(seen).toEqual([error, false]);
    expect(seen[0]).toBe(error);
    expect("is_bubble_up" in Object(thrown)).toBe(false);
  });

  it("can be frozen, and then is in LangChain's wrapper", async () => {
    const error = Object.freeze(Object.assign(new Error("busy"), { status: 503 }));
    const thrown = await thrownBy(new OpenAILike(() => error), [tetherMiddleware()]);
    expect(thrown).toMatchObject({ message: "busy", "~brand": "MiddlewareError" });
    expect(ModelError.from(thrown)).toMatchObject({ status: 503 });
  });

  it("is found for a refusal of the provider", async () => {
    strict.failNext({ status: 404, body: { error: { message: "No such model." } } });
    const thrown = await thrownBy(anthropicAt(strict.url("anthropic")), [tetherMiddleware()]);
    expect(ModelError.from(thrown)).toMatchObject({ status: 404, brokenRule: undefined });
  });

  it("is found for a channel that the agent has declared itself", async () => {
    const agent = createAgent({
      model: openAIAt(`${strict.url("openai")}/v1`),
      stateSchema: z.object({ messages: MessagesZodState.shape.messages }),
      middleware: [tetherMiddleware()],
    });
    const thrown = await agent.invoke({ messages: "Hello?" } as never).catch((error: unknown) => error);
    expect(InvalidStateError.from(thrown)?.key).toBe("messages");
    expect(ModelError.from(thrown)).toBeUndefined();
  });
});

/** Refuses a picture, and accepts its description. */
const seeing = () =>
  new OpenAILike(({ messages }) =>
    JSON.stringify(messages).includes(PICTURE.data)
      ? Object.assign(new Error("400 You uploaded an unsupported image."), { status: 400 })
      : "Here.",
  );
const PICTURE = { type: "image", mimeType: "image/png", data: "cGljdHVyZQ==" };

describe("The error of a model that passed other middleware", () => {
  it.each([1, 2, 12])(
    "is read through %i of them, so the request is sent without the picture",
    async (count) => {
      const others = Array.from({ length: count }, (_, index) => passing(`other-${index}`));
      const model = seeing();
      const thread = openAgent({ model, middleware: [tetherMiddleware(), ...others] });
      const { error, events } = await thread.run({ messages: [new HumanMessage({ content: [PICTURE] })] });
      expect(error).toBeUndefined();
      expect(events.map(({ type }) => type)).toEqual(["input-reduced"]);
      expect(model.requests).toHaveLength(2);
      expect((await thread.read()).map(({ content }) => content)).toEqual([[PICTURE], "Here."]);
    },
  );

  it("is read in an error of a user's middleware that says the same", async () => {
    const wrapping = createMiddleware({
      name: "wrapping",
      wrapModelCall: (request, handler) =>
        Promise.resolve(handler(request)).catch((cause: Error) => {
          throw Object.assign(new Error(cause.message, { cause }), { status: 500 });
        }),
    });
    const model = seeing();
    const thread = openAgent({ model, middleware: [tetherMiddleware(), wrapping, passing("a")] });
    const { error } = await thread.run({ messages: [new HumanMessage({ content: [PICTURE] })] });
    expect(error).toBeUndefined();
    expect(model.requests).toHaveLength(2);
  });

  it("ends the turn if a middleware throws an error of its own instead", async () => {
    const ending = createMiddleware({
      name: "ending",
      wrapModelCall: (request, handler) =>
        Promise.resolve(handler(request)).catch((cause: unknown) => {
          throw new Error("Not today.", { cause });
        }),
    });
    const model = seeing();
    const thread = openAgent({ model, middleware: [tetherMiddleware(), passing("a"), ending, passing("b")] });
    const { error } = await thread.run({ messages: [new HumanMessage({ content: [PICTURE] })] });
    expect(error).toMatchObject({ message: "Not today." });
    expect(ModelError.from(error)).toMatchObject({ status: 400 });
    expect(model.requests).toHaveLength(1);
  });

  it("is thrown as it came, in the wrapper of the middleware that it passed, if no other form helps", async () => {
    const model = new OpenAILike(() => Object.assign(new Error("400 Bad image."), { status: 400 }));
    const thread = openAgent({ model, middleware: [tetherMiddleware(), passing("a"), passing("b")] });
    const { error } = await thread.run(user("Hello?"));
    expect(error).toMatchObject({ "~brand": "MiddlewareError", message: "400 Bad image." });
    expect(ModelError.from(error)?.message).toContain("Bad image.");
  });
});

it("An error of another copy of this package is found by its class.", async () => {
  const copy: typeof import("../../src/errors.js") = await import(`../../src/errors.js?${"copy"}`);
  const error = new copy.ModelError("It failed.", { status: 500 });
  expect(error).not.toBeInstanceOf(ModelError);
  expect(ModelError.from(new Error("outer", { cause: error }))).toBe(error);
  expect(TetherError.isInstance(error)).toBe(true);
  expect(InvalidStateError.isInstance(error)).toBe(false);
});

it.each([
  ["nothing", undefined],
  ["a text", "MODEL_FAILED"],
  [
    "an error of somebody else with our name and code",
    Object.assign(new Error("x"), { name: "ModelError", code: "MODEL_FAILED" }),
  ],
])("Nothing is found in %s.", (_title, thrown) => {
  expect(TetherError.from(thrown)).toBeUndefined();
  expect(ModelError.isInstance(thrown)).toBe(false);
});

it("Causes that form a circle are no error of this library.", () => {
  const error = new Error("round");
  error.cause = new Error("round", { cause: error });
  expect(TetherError.isInstance(error)).toBe(false);
});
