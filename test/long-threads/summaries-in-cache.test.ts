/**
 * A summary is asked for at the end of the conversation, so that the provider finds all before it in its cache. If that
 * leads to no summary, the model gets a transcript.
 */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { toPlain } from "../../src/history/message.js";
import { type AgentGraphOptions, chatMiddleware } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLookGraph, look, lookUp } from "../support/create-look-graph.js";
import { coverageOf } from "../support/internals.js";
import { textOf } from "../support/long-histories.js";
import { type Answer, type Asked, FunctionModel } from "../support/models.js";
import { inThread, messagesOf } from "../support/thread.js";

const QUESTION = "Write this summary now";
const TRANSCRIPT = "The conversation since:";
const isQuestion = ({ text }: Asked) => text.includes(QUESTION);
const isTranscript = ({ text }: Asked) => text.includes(TRANSCRIPT);

/** Each turn looks something up, and then responds. */
const answerTurns =
  (summarise: Answer): Answer =>
  (asked) => {
    if (isQuestion(asked) || isTranscript(asked)) return summarise(asked);
    return asked.messages.at(-1)?.type === "tool"
      ? `Said ${asked.index}. ${textOf(40, `a${asked.index}`)}`
      : lookUp(`place-${asked.index}`, 100, `c${asked.index}`);
  };

/** The thread of a number of turns, each asked by `send`, and the requests of its model. */
async function playTurns(
  model: FunctionModel,
  turns: number,
  send: (input: { messages: HumanMessage[] }) => Promise<void>,
) {
  for (let turn = 0; turn < turns; turn += 1)
    await send({ messages: [new HumanMessage({ id: `h${turn}`, content: textOf(40, `h${turn}`) })] });
  const { requests, refused } = model;
  const questions = requests.filter(isQuestion);
  return { requests, refused, questions, transcripts: requests.filter(isTranscript) };
}

const SETTINGS = { maxTokensBeforeSummary: 2_000, messagesToKeep: 4 };

/** The same turns with LangChain's agent. What clients are shown is joined. */
async function playWithAgent(summarise: Answer, turns: number, client = "played") {
  const model = Object.assign(new FunctionModel(answerTurns(summarise)), { _llmType: () => client });
  const agent = createAgent({
    model,
    tools: [look],
    systemPrompt: "Be brief.",
    middleware: [tetherMiddleware({ summary: SETTINGS })],
    checkpointer: new MemorySaver(),
  });
  let shown = "";
  const played = await playTurns(model, turns, async (input) => {
    const config = { ...inThread("t"), streamMode: "messages" } as const;
    for await (const [message] of await agent.stream(input, config)) shown += message.text;
  });
  return { ...played, shown };
}

/** Throws what says the same, as LangChain does. */
const wrapping = chatMiddleware(async (_, next) => {
  await next().catch((cause: Error) => {
    throw Object.assign(new Error(cause.message, { cause }), { name: cause.name });
  });
});

async function play(
  summarise: Answer,
  options: Partial<AgentGraphOptions> = {},
  turns = 12,
  client = "played",
) {
  const { graph, model } = createLookGraph(answerTurns(summarise), {
    systemPrompt: "Be brief.",
    maxStreamFallbackAttempts: 0,
    checkpointer: new MemorySaver(),
    ...SETTINGS,
    ...options,
    summaryModel: undefined as never,
  });
  Object.assign(model, { _llmType: () => client });
  let messages: BaseMessage[] = [];
  const played = await playTurns(model, turns, async (input) => {
    messages = messagesOf(await graph.invoke(input, inThread("t")));
  });
  return { ...played, messages };
}

const lines = (messages: readonly BaseMessage[]) =>
  messages.map((message) => JSON.stringify(toPlain(message)));
const beginsWith = (messages: readonly BaseMessage[], beginning: readonly BaseMessage[]) => {
  const own = lines(messages);
  return lines(beginning).every((line, index) => own[index] === line);
};
/** The later request may have a response that came after the earlier one. */
const isOneThread = (one: readonly BaseMessage[], other: readonly BaseMessage[]) =>
  beginsWith(one, other.slice(0, one.length));
/** Before the question, the strict dialect puts a response where the last message is a result. */
const withoutQuestion = ({ messages }: Asked) =>
  messages.slice(0, -1).filter(({ text }) => text !== "I have the results.");
const summariesIn = (messages: readonly BaseMessage[]) =>
  messages.filter((message) => coverageOf(message) !== undefined);

describe.each(["keep", "archive"] as const)("with `coveredMessages: %s`", (coveredMessages) => {
  const playing = play(
    ({ index }) => `The gist ${index}.`,
    { coveredMessages, store: new InMemoryStore() },
    32,
  );

  it("each request for a summary begins as the request before it, and ends with the question", async () => {
    const { requests, questions, refused } = await playing;
    expect(questions.length).toBeGreaterThan(2);
    expect(refused).toEqual([]);
    for (const asked of questions) {
      const before = requests[requests.indexOf(asked) - 1]?.messages ?? [];
      expect(isOneThread(before, withoutQuestion(asked))).toBe(true);
      expect(asked.messages.length).toBeGreaterThan(4);
      expect(asked.toolChoice).toBe("none");
    }
  });

  it("each other request begins with the one before, but for one after each summary", async () => {
    const { requests } = await playing;
    const others = requests.filter((asked) => !isQuestion(asked));
    const breaks = others.filter(
      (asked, index) => !beginsWith(asked.messages, others[index - 1]?.messages ?? []),
    );
    expect(breaks.length).toBeGreaterThan(2);
    for (const asked of breaks) expect(isQuestion(requests[requests.indexOf(asked) - 1] as Asked)).toBe(true);
  });

  it("the summariser was shown all that is covered", async () => {
    const { requests, questions } = await playing;
    for (const asked of questions) {
      const before = requests[requests.indexOf(asked) - 1]?.messages ?? [];
      const after = requests[requests.indexOf(asked) + 1]?.messages ?? [];
      // Messages of the user that follow one another are sent as one.
      const texts = [...asked.messages, ...after].map(({ text }) => text).join("\n");
      for (const { text } of before) expect(texts).toContain(text);
    }
  });
});

it("the same holds for an agent of LangChain with the middleware", async () => {
  const { requests, questions, shown } = await playWithAgent(({ index }) => `The gist ${index}.`, 25);
  expect(questions.length).toBeGreaterThan(1);
  expect(requests.filter(isTranscript)).toEqual([]);
  for (const asked of questions) {
    const before = requests[requests.indexOf(asked) - 1]?.messages ?? [];
    expect(isOneThread(before, withoutQuestion(asked))).toBe(true);
    expect(asked.toolChoice).toBe("none");
  }
  expect(shown).toContain("Said");
  expect(shown).not.toContain("The gist");
});

it("the tool choice stays as it was for Anthropic, which would read all messages again", async () => {
  const gist: Answer = ({ index }) => `The gist ${index}.`;
  for (const { questions } of [
    await play(gist, {}, 12, "anthropic"),
    await playWithAgent(gist, 12, "anthropic"),
  ]) {
    expect(questions.length).toBeGreaterThan(0);
    for (const { toolChoice } of questions) expect(toolChoice).toBeUndefined();
  }
});

describe("asks with a transcript", () => {
  const gist: Answer = (asked) => `The gist ${asked.index}.`;

  it.each<[string, (asked: Asked) => ReturnType<Answer>]>([
    ["if the provider refuses", () => Object.assign(new Error("bad request"), { status: 400 })],
    ["if the response is empty", () => ""],
    ["if the response is a call", () => lookUp("place", 10, "x")],
    [
      "if the window is smaller than was thought",
      () => Object.assign(new Error("prompt is too long"), { status: 400 }),
    ],
  ])("%s", async (_, ride) => {
    const { questions, transcripts, messages } = await play((asked) =>
      isQuestion(asked) ? ride(asked) : gist(asked),
    );
    expect(questions.length).toBeGreaterThan(0);
    // A question that is refused for its content is asked in other forms before.
    expect(transcripts.length).toBeGreaterThan(0);
    expect(transcripts.length).toBeLessThanOrEqual(questions.length);
    expect(summariesIn(messages).length).toBeGreaterThan(0);
  });

  it.each<[string, Partial<AgentGraphOptions>]>([
    ["if calls are left out of the input", { maxToolCallsFromHistory: 2, maxTokensBeforeSummary: 800 }],
    ["if a middleware responds in place of the model", { middleware: [cannedFor(QUESTION)] }],
  ])("%s", async (_, options) => {
    const { questions, transcripts, messages } = await play(gist, options);
    expect(questions).toEqual([]);
    expect(transcripts.length).toBeGreaterThan(0);
    expect(summariesIn(messages).at(-1)?.text).toContain("The gist");
  });

  it.each([
    ["", []],
    [", also if a middleware wraps its error", [wrapping]],
  ])("not if the model has failed: it is tried again in a later turn%s", async (_, middleware) => {
    const { questions, transcripts } = await play(
      (asked) => (isQuestion(asked) ? Object.assign(new Error("overloaded"), { status: 529 }) : gist(asked)),
      { middleware },
    );
    expect(questions.length).toBeGreaterThan(0);
    expect(transcripts).toEqual([]);
  });
});

it("takes the text, and not the call, of a response with both", async () => {
  const both = () => new AIMessage({ ...lookUp("place", 10, "x"), content: "The gist." } as never);
  const { transcripts, messages } = await play((asked) => (isQuestion(asked) ? both() : ""));
  expect(transcripts).toEqual([]);
  expect(summariesIn(messages).at(-1)?.text).toContain("The gist.");
  expect(
    messages.filter((message) => (message as AIMessage).tool_calls?.some(({ id }) => id === "x")),
  ).toEqual([]);
});

it("chat middleware changes the request for a summary as every other", async () => {
  const hide = chatMiddleware(async ({ messages }, next) => {
    for (const message of messages)
      if (typeof message.content === "string") message.content = message.content.replaceAll("h1", "***");
    await next();
  });
  const { requests, questions } = await play((asked) => `The gist ${asked.index}.`, { middleware: [hide] });
  expect(questions.length).toBeGreaterThan(0);
  for (const { messages } of requests) expect(messages.map(({ text }) => text).join()).not.toContain("h1");
});

function cannedFor(text: string) {
  return chatMiddleware(async (context, next) => {
    if (context.messages.at(-1)?.text.includes(text)) context.result = new AIMessage("Not now.");
    else await next();
  });
}
