import { HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ChatContext, chatMiddleware, createAgentGraph } from "../../../src/index.js";
import { chatAgent, config } from "../../fixtures/middleware/chat-agent.js";
import { startModelServer } from "../../support/model-server.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { pairedMessagesOf, user } from "../../support/thread.js";
import { titled } from "../../support/titled.js";

interface SentCase {
  readonly title: string;
  readonly change: (context: ChatContext) => void;
  /** Of the last request, after a turn with a call. */
  readonly sent: readonly string[];
}

const HISTORY = ["human: one", "ai: ", "tool: fast done -"];
const SYSTEM = "system: Be brief.";

const SENT: readonly SentCase[] = [
  { title: "nothing", change: () => {}, sent: [SYSTEM, ...HISTORY] },
  {
    title: "an instruction at the end, which goes to the front",
    change: ({ messages }) => void messages.push(new SystemMessage("Rhyme.")),
    sent: ["system: Be brief.\n\nRhyme.", ...HISTORY],
  },
  {
    title: "a message of a user",
    change: ({ messages }) => void messages.push(new HumanMessage("Go on.")),
    sent: [SYSTEM, ...HISTORY, "ai: I have the results.", "human: Go on."],
  },
  {
    title: "what stands for a message",
    change: ({ messages }) => void messages.push({ role: "user", content: "Go on." } as never),
    sent: [SYSTEM, ...HISTORY, "ai: I have the results.", "human: Go on."],
  },
  {
    title: "the texts in place",
    change: ({ messages }) => {
      for (const message of messages) message.content = `${message.text}!`;
    },
    sent: ["system: Be brief.!", "human: one!", "ai: !", "tool: fast done -!"],
  },
  {
    title: "a call without its result",
    change: (context) => {
      context.messages = context.messages.filter(({ type }) => type !== "tool");
    },
    sent: [
      SYSTEM,
      "human: one",
      "ai: ",
      expect.stringMatching(/^tool: Tool call fast .* no result was recorded/),
    ],
  },
  {
    title: "a result without its call",
    change: (context) => {
      context.messages = context.messages.filter(({ type }) => type !== "ai");
    },
    sent: [SYSTEM, "human: one"],
  },
  {
    title: "a result of no call",
    change: ({ messages }) => void messages.push(new ToolMessage({ content: "x", tool_call_id: "none" })),
    sent: [SYSTEM, ...HISTORY],
  },
  {
    title: "no message at all",
    change: ({ messages }) => void messages.splice(0),
    sent: ["human: (The beginning of this conversation is not shown.)"],
  },
];

describe("what is sent", () => {
  it.each(titled(SENT))("can be changed, and is not stored: %s", async (_title, { change, sent }) => {
    const { model, send } = chatAgent(
      async (context, next) => {
        if (context.messages.at(-1)?.type === "tool") change(context);
        await next();
      },
      [calls(["fast"]), "done"],
    );
    expect(await send("one")).toEqual(["human: one", "ai> fast", "tool: fast done -", "ai: done"]);
    expect(model.requests[1]?.messages.map(({ type, text }) => `${type}: ${text}`)).toEqual(sent);
  });

  it("must be a message, and the error says what it was", async () => {
    const { graph } = chatAgent(async ({ messages }, next) => {
      messages.push(42 as never);
      await next();
    }, []);
    await expect(graph.invoke(user("one"), config)).rejects.toThrow("`messages[2]` to be a message");
  });

  it.each([
    [
      "messages",
      undefined,
      "InvalidMessageError",
      "`context.messages` to be a list of messages, got `undefined`",
    ],
    [
      "messages",
      "hello",
      "InvalidMessageError",
      '`context.messages` to be a list of messages, got `"hello"`',
    ],
    ["options", undefined, "InvalidSettingError", "`context.options` to be an object, got `undefined`"],
    [
      "options.parameters",
      null,
      "InvalidSettingError",
      "`context.options.parameters` to be an object, got `null`",
    ],
    ["options.parameters", 5, "InvalidSettingError", "`context.options.parameters` to be an object, got `5`"],
  ])("cannot be of another shape, and the error names it: `%s` as %j", async (place, value, name, says) => {
    const { graph, model } = chatAgent(async (context, next) => {
      if (place === "options.parameters") context.options.parameters = value as never;
      else Reflect.set(context, place, value);
      await next();
    }, []);
    const message = expect.stringContaining(says);
    await expect(graph.invoke(user("one"), config)).rejects.toMatchObject({ name, message });
    expect(model.requests).toEqual([]);
  });

  it("can be changed deep within a message, whose history is not", async () => {
    const { graph, model } = chatAgent(
      async ({ messages }, next) => {
        for (const { content } of messages)
          if (Array.isArray(content))
            for (const block of content) if (block.type === "text") block.text = "hidden";
        await next();
      },
      ["done"],
    );
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const given = new HumanMessage({ content: [{ type: "text", text: "secret" }, image] as never });
    const values = await graph.invoke({ messages: [given] }, config);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("hidden");
    expect(JSON.stringify(model.requests[0]?.messages)).not.toContain("secret");
    expect([pairedMessagesOf(values)[0]?.text, given.text]).toEqual(["secret", "secret"]);
  });

  it("is what the model is offered: the tool choice, for this call", async () => {
    const { model, send } = chatAgent(
      async ({ options, messages }, next) => {
        if (messages.at(-1)?.type === "human")
          options.toolChoice = { mode: "required", afterRequired: "answer" };
        await next();
      },
      [calls(["fast"]), "done"],
    );
    await send("one");
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["any", "none"]);
  });

  it("is refused with a tool choice that names no tool", async () => {
    const { send } = chatAgent(async ({ options }, next) => {
      options.toolChoice = { mode: "required", requiredFunctionName: "slow" };
      await next();
    }, []);
    await expect(send("one")).rejects.toThrow("requires `slow`");
  });

  it("has the parameters, also of a client that has them as fields", async () => {
    const server = await startModelServer(() => ({ text: "done" }));
    onTestFinished(() => server.stop());
    const model = new ChatOpenAI({
      model: "test",
      apiKey: "x",
      temperature: 1,
      streamUsage: false,
      configuration: { baseURL: server.url },
    });
    const middleware = chatMiddleware(async ({ options }, next) => {
      options.parameters = { temperature: 0.25, topP: 0.5, stop: ["."] };
      await next();
    });
    const { fast } = createProbe();
    await createAgentGraph({ model, tools: [fast], middleware: [middleware] }).invoke(user("go"));
    await createAgentGraph({ model, tools: [fast] }).invoke(user("go"));
    expect(server.bodies).toMatchObject([{ temperature: 0.25, top_p: 0.5, stop: ["."] }, { temperature: 1 }]);
    expect(server.requests.map(({ tools }) => tools.length)).toEqual([1, 1]);
    expect(server.bodies[1]).not.toHaveProperty("stop");
  });
});
