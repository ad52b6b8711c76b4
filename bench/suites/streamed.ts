/**
 * Many runs at once whose model streams a long answer: what they cost the processor, and how long the first token takes. The same
 * runs without a listener, and short ones. A server spends its time on these.
 */

import { setImmediate } from "node:timers/promises";
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { PlayedModel } from "../../test/support/models.js";
import type { AnyAgent } from "../agents.js";
import { CREATE_AGENT, OURS, WITH_TETHER } from "../contenders.js";
import { InstantModel, look } from "../instant-model.js";
import { type CaseSpec, measureRounds, median, type Suite } from "../suite.js";

const RUNS = 200;
const AT_ONCE = 100;
const TOKENS = 500;

interface StreamingAgent extends AnyAgent {
  stream(input: object, config: object): Promise<AsyncIterable<readonly [BaseMessage, object]>>;
}

const usage_metadata = { input_tokens: 20, output_tokens: TOKENS, total_tokens: TOKENS + 20 };
const FINISHED = { finish_reason: "stop", model_name: "instant", model_provider: "instant" };
const TEXT = "word ".repeat(TOKENS);

let responses = 0;

/** Answers with a text of one token a chunk, and with the whole of it if it is not streamed. */
class TokenModel extends PlayedModel {
  protected override async play(): Promise<readonly AIMessageChunk[]> {
    responses += 1;
    const id = `answer-${responses}`;
    const chunk = (fields: object) => new AIMessageChunk({ id, ...fields } as never);
    const token = { content: "word ", response_metadata: { model_provider: "instant" } };
    return [
      ...Array.from({ length: TOKENS }, () => chunk(token)),
      chunk({ content: "", usage_metadata, response_metadata: FINISHED }),
    ];
  }

  override async *_streamResponseChunks(...given: Parameters<PlayedModel["_streamResponseChunks"]>) {
    for await (const chunk of super._streamResponseChunks(...given)) {
      yield chunk;
      // Tokens come over a network. LangChain shows them in the background, and would lose those of a model without pauses.
      await setImmediate();
    }
  }

  override async _generate(): Promise<ChatResult> {
    const message = new AIMessage({ content: TEXT, usage_metadata, response_metadata: FINISHED } as never);
    return { generations: [{ text: TEXT, message }] };
  }
}

/** Calls no tool, or one if it is asked for a look. */
class ShortModel extends InstantModel {
  protected override play(...[messages, options]: Parameters<InstantModel["play"]>) {
    const callsTool = messages.some(({ text }) => text === "Look.");
    return super.play(messages, callsTool ? options : { ...options, toolNames: [] });
  }
}

type Create = (model: PlayedModel) => StreamingAgent;

const parts = (model: PlayedModel) => ({ model, tools: [look], checkpointer: new MemorySaver() });
const langChains = (model: PlayedModel, ...middleware: unknown[]) =>
  createAgent({ ...parts(model), middleware } as never).graph as unknown as StreamingAgent;

const AGENTS: Readonly<Record<string, Create>> = {
  [OURS]: (model) => createAgentGraph(parts(model)) as unknown as StreamingAgent,
  [WITH_TETHER]: (model) => langChains(model, tetherMiddleware()),
  [CREATE_AGENT]: (model) => langChains(model),
};

/** Contract: plays one run in a thread of its own. Resolves to the milliseconds until its first token. */
type Play = (agent: StreamingAgent, config: object) => Promise<number>;

const listen: Play = async (agent, config) => {
  const begin = performance.now();
  let first = Number.NaN;
  let length = 0;
  const input = { messages: [new HumanMessage("Speak.")] };
  for await (const [message] of await agent.stream(input, { ...config, streamMode: "messages" })) {
    if (message.type !== "ai" || message.text === "") continue;
    if (length === 0) first = performance.now() - begin;
    length += message.text.length;
  }
  if (length !== TEXT.length) throw new Error(`Expected ${TEXT.length} characters, got ${length}.`);
  return first;
};

const invoking =
  (text: string, expected: number): Play =>
  async (agent, config) => {
    const { messages } = await agent.invoke({ messages: [new HumanMessage(text)] }, config);
    if (messages.length !== expected)
      throw new Error(`Expected ${expected} messages, got ${messages.length}.`);
    return Number.NaN;
  };

let threads = 0;

/** Plays all runs. Resolves to the processor's milliseconds of each, and to the median wait for the first token. */
async function playAll(create: Create, model: PlayedModel, play: Play) {
  const agent = create(model);
  const waits: number[] = [];
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let run = 0; run < RUNS / AT_ONCE; run += 1) {
        threads += 1;
        waits.push(await play(agent, { configurable: { thread_id: `streamed-${threads}` } }));
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { processor: (user + system) / 1_000 / RUNS, firstToken: median(waits) };
}

type Outcome = Awaited<ReturnType<typeof playAll>>;

function caseOf(id: string, what: string, create: () => PlayedModel, play: Play): CaseSpec {
  return {
    id,
    title: `Processor time of a run with ${what}, ${AT_ONCE} at once`,
    unit: "ms",
    base: CREATE_AGENT,
    contenders: Object.fromEntries(
      Object.entries(AGENTS).map(([name, agent]) => [
        name,
        async () => (await playAll(agent, create(), play)).processor,
      ]),
    ),
  };
}

/** Two cases whose numbers come from the same runs. The first of them plays the runs of the round. */
function casesOfStream(): CaseSpec[] {
  const played = new Map<string, Outcome>();
  const contenders = (run: (name: string, agent: Create) => number | Promise<number>) =>
    Object.fromEntries(Object.entries(AGENTS).map(([name, agent]) => [name, () => run(name, agent)]));
  return [
    {
      id: "streamed",
      title: `Processor time of a run with a streamed answer of ${TOKENS} tokens, ${AT_ONCE} at once`,
      unit: "ms",
      base: CREATE_AGENT,
      contenders: contenders(async (name, agent) => {
        const outcome = await playAll(agent, new TokenModel(), listen);
        played.set(name, outcome);
        return outcome.processor;
      }),
    },
    {
      id: "first-token",
      title: `The first token of such a run`,
      unit: "ms",
      base: CREATE_AGENT,
      contenders: contenders((name) => played.get(name)?.firstToken ?? Number.NaN),
    },
  ];
}

export const streamed: Suite = {
  name: "streamed",
  measure: (conditions) => {
    const cases = [
      ...casesOfStream(),
      caseOf("invoked", `an answer of ${TOKENS} tokens`, () => new TokenModel(), invoking("Speak.", 2)),
      caseOf("short-text", "a short text", () => new ShortModel(), invoking("Speak.", 2)),
      caseOf("short-tool", "a tool call", () => new ShortModel(), invoking("Look.", 4)),
    ];
    return measureRounds(cases, { ...conditions, rounds: 5 });
  },
};
