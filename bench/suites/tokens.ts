/**
 * What a provider reads of whole threads, counted: no time and no chance has a part in it. The model is a script that
 * responds as the conversation has it, or with a summary of fixed length if it is asked for one.
 */

import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createDeepAgent } from "deepagents";
import { createAgent, summarizationMiddleware } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type RecordedMessage, recordedConversations } from "../../test/support/recorded-conversations.js";
import { longTexts } from "../../test/support/sample-texts.js";
import { CREATE_AGENT, DEEP_AGENT, OURS, WITH_SUMMARY, WITH_TETHER } from "../contenders.js";
import {
  type Caching,
  type CountingModel,
  type Counts,
  createCountingModel,
  noCounts,
} from "../count-tokens.js";
import type { CaseResult } from "../report/results.js";
import type { Suite } from "../suite.js";

/** What a token costs beside one of the input that is read afresh. */
interface Price {
  readonly id: string;
  readonly title: string;
  readonly caching: Caching;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly source: string;
}

const PRICES: readonly Price[] = [
  {
    id: "tenth",
    title: "cached input a tenth",
    caching: "automatic",
    cached: 0.1,
    written: 1,
    output: 8,
    source:
      "gpt-5: $1.25 a million tokens of input, $0.125 cached, $10 output, https://platform.openai.com/docs/pricing",
  },
  {
    id: "half",
    title: "cached input a half",
    caching: "automatic",
    cached: 0.5,
    written: 1,
    output: 4,
    source:
      "gpt-4o: $2.50 a million tokens of input, $1.25 cached, $10 output, https://platform.openai.com/docs/pricing",
  },
  {
    id: "marked",
    title: "Anthropic, where only what is marked is cached",
    caching: "marked",
    cached: 0.1,
    written: 1.25,
    output: 5,
    source:
      "cache reads 0.1 times and writes 1.25 times the input, output 5 times, https://platform.claude.com/docs/en/about-claude/pricing",
  },
];

/** The window that the model states in the threads with summaries. */
const WINDOW = 32_000;
const LIVED_TURNS = 400;
const KIND_TURNS = 160;

interface Conversation {
  readonly prompt: string;
  /** The names of the tools. */
  readonly tools: readonly string[];
  readonly lines: readonly RecordedMessage[];
}

interface AgentParts {
  readonly model: CountingModel;
  readonly tools: readonly ReturnType<typeof toolsOf>[number][];
  readonly prompt: string;
}

interface Streamable {
  stream(input: object, config: object): Promise<AsyncIterable<unknown>>;
}

interface Contestant {
  /** How it is configured, as its documentation says it. */
  readonly about: string;
  readonly create: (parts: AgentParts) => Streamable;
}

const theirs =
  (middleware: (model: CountingModel) => unknown[]): Contestant["create"] =>
  ({ model, tools, prompt: systemPrompt }) =>
    createAgent({
      model,
      tools,
      systemPrompt,
      middleware: middleware(model),
      checkpointer: new ReferenceSaver(),
    } as never) as unknown as Streamable;

const ours: Contestant = {
  about: "createAgentGraph({ model, tools, systemPrompt, checkpointer })",
  create: ({ model, tools, prompt: systemPrompt }) =>
    createAgentGraph({
      model,
      tools: [...tools],
      systemPrompt,
      checkpointer: new ReferenceSaver(),
    }) as unknown as Streamable,
};

const deepAgent: Contestant = {
  about:
    "createDeepAgent({ model, tools, systemPrompt, checkpointer }), which has a prompt, tools and summaries of its own, at 170,000 tokens if no window is stated",
  create: ({ model, tools, prompt: systemPrompt }) =>
    createDeepAgent({
      model,
      tools,
      systemPrompt,
      checkpointer: new ReferenceSaver(),
    } as never) as unknown as Streamable,
};

interface Setting {
  readonly id: string;
  readonly title: string;
  readonly window: number | undefined;
  readonly base: string;
  readonly contestants: Readonly<Record<string, Contestant>>;
}

const SETTINGS: readonly Setting[] = [
  {
    id: "summaries",
    title: `with summaries, window of ${WINDOW.toLocaleString("en-US")}`,
    window: WINDOW,
    base: WITH_SUMMARY,
    contestants: {
      [OURS]: ours,
      [WITH_TETHER]: {
        about:
          "createAgent({ model, tools, systemPrompt, checkpointer, middleware: [tetherMiddleware({ summary: {} })] })",
        create: theirs(() => [tetherMiddleware({ summary: {} })]),
      },
      [WITH_SUMMARY]: {
        about:
          "createAgent({ model, tools, systemPrompt, checkpointer, middleware: [summarizationMiddleware({ model, trigger: { fraction: 0.8 }, keep: { messages: 20 } })] })",
        create: theirs((model) => [
          summarizationMiddleware({
            model,
            trigger: { fraction: 0.8 },
            keep: { messages: 20 },
          } as never),
        ]),
      },
      [DEEP_AGENT]: deepAgent,
    },
  },
  {
    id: "plain",
    title: "without summaries, window not stated",
    window: undefined,
    base: CREATE_AGENT,
    contestants: {
      [OURS]: ours,
      [CREATE_AGENT]: {
        about: "createAgent({ model, tools, systemPrompt, checkpointer })",
        create: theirs(() => []),
      },
      [DEEP_AGENT]: deepAgent,
    },
  },
];

/** Keeps values as they are: what is stored costs no tokens, and much of the time. */
class ReferenceSaver extends MemorySaver {
  constructor() {
    const known: unknown[] = [];
    super({
      dumpsTyped: async (value) => ["reference", new TextEncoder().encode(String(known.push(value) - 1))],
      loadsTyped: async (_, place) =>
        known[Number(typeof place === "string" ? place : new TextDecoder().decode(place))],
    });
  }
}

const THREADS = {
  recorded: "recorded conversations",
  lived: `one thread of ${LIVED_TURNS} turns with tools`,
  english: `one thread of ${KIND_TURNS} turns with results in English`,
  json: `one thread of ${KIND_TURNS} turns with results in JSON`,
  code: `one thread of ${KIND_TURNS} turns with results in code`,
  chinese: `one thread of ${KIND_TURNS} turns with results in Chinese`,
} as const;
export type ThreadKind = keyof typeof THREADS;

/** Conversations with the shapes of recorded ones, each a thread of its own. */
function recorded(count: number): Conversation[] {
  const tools = namesIn(recordedConversations.flat());
  return recordedConversations.slice(0, count).map((messages) => {
    const lines = messages.filter(({ role }) => role !== "system");
    // The run of a call without a result would not end.
    while (lines.at(-1)?.tool_calls !== undefined) lines.pop();
    if (lines.at(-1)?.role !== "assistant") lines.push({ role: "assistant", content: "(the end)" });
    return { prompt: messages.find(({ role }) => role === "system")?.content ?? "", tools, lines };
  });
}

const words = (name: string, tokens: number) => `${name} ${"word ".repeat(tokens)}`.slice(0, tokens * 4);

/** @param textOf What is said and found in each turn: a text of about this many tokens. */
function lived(
  turns: number,
  textOf = (_kind: "said" | "found", name: string, tokens: number) => words(name, tokens),
): Conversation {
  const lines = Array.from({ length: turns }, (_, turn): RecordedMessage[] => {
    const id = `call_${turn}`;
    const called = { name: `tool_${(turn % 5) + 1}`, arguments: JSON.stringify({ at: `place ${turn}` }) };
    return [
      { role: "user", content: textOf("said", `question ${turn}`, 60) },
      { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: called }] },
      { role: "tool", tool_call_id: id, name: called.name, content: textOf("found", `found ${turn}`, 300) },
      { role: "assistant", content: textOf("said", `answer ${turn}`, 120) },
    ];
  }).flat();
  return { prompt: words("You help travellers.", 600), tools: namesIn(lines), lines };
}

/** How many characters a token has in texts of each kind. */
const CHARACTERS_PER_TOKEN = { english: 4.8, json: 2.8, code: 4.2, chinese: 1.4 } as const;
type TextKind = keyof typeof CHARACTERS_PER_TOKEN;

/** A thread whose tools return texts of one kind. People speak Chinese about Chinese texts, and English about others. */
function ofKind(kind: TextKind, turns: number): Conversation {
  const partOf = (from: TextKind, name: string, tokens: number) => {
    const text = longTexts[from];
    const length = Math.round(CHARACTERS_PER_TOKEN[from] * tokens);
    const start = (Number(/\d+/.exec(name)) * length * 7) % (text.length - length);
    return `${name}: ${text.slice(start, start + length)}`;
  };
  const spoken = kind === "chinese" ? "chinese" : "english";
  return lived(turns, (part, name, tokens) => partOf(part === "said" ? spoken : kind, name, tokens));
}

const namesIn = (lines: readonly RecordedMessage[]): string[] =>
  [
    ...new Set(lines.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name))),
  ].toSorted();

function toolsOf({ tools, lines }: Conversation) {
  const results = lines.filter(({ role }) => role === "tool");
  let played = 0;
  return tools.map((name) =>
    tool(async () => results[played++]?.content ?? "", {
      name,
      description: `Does ${name}, with what the user said of it.`,
      schema: z.looseObject({ at: z.string().optional() }),
    }),
  );
}

function toMessage({ content, tool_calls = [] }: RecordedMessage): AIMessage {
  const calls = tool_calls.map(({ id, function: { name, arguments: text } }) => ({
    id,
    name,
    args: JSON.parse(text),
  }));
  return new AIMessage({ content: content ?? "", tool_calls: calls });
}

/** How often an agent has told of each kind of event. */
type Told = Readonly<Record<string, number>>;

async function play(
  conversation: Conversation,
  { create }: Contestant,
  caching: Caching,
  window?: number,
): Promise<{ readonly counts: Counts; readonly told: Told }> {
  const { prompt, lines } = conversation;
  const answers = lines.filter(({ role }) => role === "assistant");
  let played = 0;
  const respond = () => {
    const answer = answers[played++];
    if (answer === undefined) throw new Error("Expected no further request of this conversation.");
    return toMessage(answer);
  };
  const model = createCountingModel(caching, respond, window);
  const told: Record<string, number> = {};
  const agent = create({ model, tools: toolsOf(conversation), prompt });
  for (const { role, content } of lines) {
    if (role !== "user") continue;
    const config = { configurable: { thread_id: "t" }, recursionLimit: 500, durability: "exit" };
    const input = { messages: [{ role: "user", content }] };
    for await (const event of await agent.stream(input, { ...config, streamMode: "custom" })) {
      const { type = "other" } = event as { readonly type?: string };
      told[type] = (told[type] ?? 0) + 1;
    }
  }
  if (played !== answers.length) throw new Error(`Expected ${answers.length} responses, got ${played}.`);
  return { counts: model.counts, told };
}

function total(all: readonly Counts[]): Counts {
  const sum = noCounts();
  for (const counts of all)
    for (const name of Object.keys(sum) as (keyof Counts)[])
      sum[name] = name === "longest" ? Math.max(sum.longest, counts.longest) : sum[name] + counts[name];
  return sum;
}

/** In tokens of input that is read afresh. The responses are the same for all, so those to users are not counted. */
function costOf({ sent, cached, written, summaryOutput }: Counts, price: Price): number {
  const afresh = sent - cached - written;
  return afresh + cached * price.cached + written * price.written + summaryOutput * price.output;
}

const COUNTED: readonly [name: keyof Counts, title: string][] = [
  ["sent", "Tokens sent"],
  ["cached", "Tokens of these that are in the provider's cache"],
  ["sentForSummaries", "Tokens sent for summaries"],
  ["summaries", "Requests for summaries"],
  ["longest", "The longest request"],
];

/** What the agents with summaries make of one thread of each kind, as lines of a table. */
export async function compareKinds(kinds: readonly TextKind[], turns = KIND_TURNS) {
  const [{ contestants, window }] = SETTINGS as readonly [Setting];
  const [tenth, half] = PRICES as readonly [Price, Price];
  const rows: Record<string, string | number>[] = [];
  for (const kind of kinds)
    for (const [agent, contestant] of Object.entries(contestants)) {
      const { counts, told } = await play(ofKind(kind, turns), contestant, "automatic", window);
      const events = Object.entries(told).filter(
        ([type]) => type.startsWith("summary") || type.startsWith("input"),
      );
      rows.push({
        results: kind,
        agent,
        requests: counts.requests,
        summaries: counts.summaries,
        longest: counts.longest,
        "price (cached a tenth)": Math.round(costOf(counts, tenth)),
        "price (cached a half)": Math.round(costOf(counts, half)),
        told: events.map(([type, count]) => `${count} ${type}`).join(", "),
      });
    }
  return rows;
}

export const tokens: Suite = {
  name: "tokens",
  measure: async ({ isQuick, note }) => {
    const kindTurns = isQuick ? 60 : KIND_TURNS;
    const conversations: Readonly<Record<ThreadKind, readonly Conversation[]>> = {
      recorded: recorded(isQuick ? 5 : 50),
      lived: [lived(isQuick ? 60 : LIVED_TURNS)],
      english: [ofKind("english", kindTurns)],
      json: [ofKind("json", kindTurns)],
      code: [ofKind("code", kindTurns)],
      chinese: [ofKind("chinese", kindTurns)],
    };
    const cases: CaseResult[] = [];
    for (const setting of SETTINGS) {
      const counted = new Map<string, Counts>();
      const keyOf = (kind: string, caching: Caching, name: string) => [kind, caching, name].join();
      for (const [name, contestant] of Object.entries(setting.contestants)) {
        for (const caching of ["automatic", "marked"] as const) {
          const all: Counts[] = [];
          for (const [kind, some] of Object.entries(conversations)) {
            note(`${setting.id}, ${name}, ${caching}, ${kind}`);
            const each: Counts[] = [];
            for (const one of some) each.push((await play(one, contestant, caching, setting.window)).counts);
            counted.set(keyOf(kind, caching, name), total(each));
            all.push(...each);
          }
          counted.set(keyOf("all", caching, name), total(all));
        }
      }
      const about = Object.entries(setting.contestants).map(([name, { about }]) => `${name}: \`${about}\``);
      const caseOf = (
        id: string,
        title: string,
        caching: Caching,
        kind: string,
        numberOf: (counts: Counts) => number,
        unit = "tokens",
      ): CaseResult => ({
        id: `${setting.id}/${id}`,
        title,
        unit,
        base: setting.base,
        rounds: Object.fromEntries(
          Object.keys(setting.contestants).map((name) => [
            name,
            [Math.round(numberOf(counted.get(keyOf(kind, caching, name)) ?? noCounts()))],
          ]),
        ),
      });
      for (const price of PRICES) {
        const kinds = { all: "all threads", ...THREADS };
        for (const [kind, threads] of Object.entries(kinds))
          cases.push({
            ...caseOf(
              `${kind}/${price.id}`,
              `Input at its price, ${price.title}, ${threads}, ${setting.title}`,
              price.caching,
              kind,
              (counts) => costOf(counts, price),
            ),
            notes: [...(kind === "all" ? about : []), `Price: ${price.source}`],
          });
      }
      for (const [name, title] of COUNTED)
        for (const [kind, threads] of Object.entries(THREADS))
          for (const caching of name === "cached"
            ? (["automatic", "marked"] as const)
            : (["automatic"] as const))
            cases.push(
              caseOf(
                `${kind}/${name}${caching === "marked" ? "-marked" : ""}`,
                `${title}${caching === "marked" ? ", Anthropic" : ""}, ${threads}, ${setting.title}`,
                caching,
                kind,
                (counts) => counts[name],
                name === "summaries" ? "requests" : "tokens",
              ),
            );
    }
    return cases;
  },
};
