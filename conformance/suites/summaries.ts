/** Summaries of threads with parallel calls, and summarisers that fail. */

import { type ChatRequest, startModelServer, type WantedReply } from "../../test/support/model-server.js";
import { startStrictProvider } from "../../test/support/strict-provider/start-strict-provider.js";
import type { Agent, ToolSpec } from "../adapter.js";
import { human, textOfStored } from "../stored.js";
import { DASH, fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";
import { forkCases, refusalOf } from "./fork.js";

const TURNS = Array.from({ length: 8 }, (_, turn) => turn);
/** Each turn has about a thousand tokens; the long one has more than are summarised at once by default. */
const WORDS = 400;
const LONG = { turn: 2, words: 1800 } as const;
/** The window that the client is told. The prompt and the tools of deepagents alone have about 6,000 tokens. */
const WINDOW = 12_000;
/** From the example of LangChain's documentation, with fewer messages, because the threads are short. */
const SUMMARY = { tokens: 4000, keep: 4 } as const;

const priceOf = (turn: number, price = "ten euros") => `The price of turn ${turn} is ${price}.`;
const answerOf = (turn: number) => `Turn ${turn} is done.`;
const requestOf = (turn: number, { isLong, price }: SummaryCase) => {
  const words = isLong && turn === LONG.turn ? LONG.words : WORDS;
  return `Turn ${turn}. ${priceOf(turn, price)} ${"some words ".repeat(words)}`;
};

const LOOK: ToolSpec = {
  name: "look",
  description: "Looks.",
  schema: { type: "object", properties: { at: { type: "string" } } },
  run: ({ at }) => `looked at ${at}`,
};

/** What it says to the n-th request, and to a thread with this latest turn. A number is the HTTP status of an error. */
type Summariser = (attempt: number, latest: number) => WantedReply | number;

const isSummary = (reply: WantedReply | number) =>
  typeof reply !== "number" && (reply.text ?? "").trim() !== "";

/** What the model says: some calls in each turn, then an answer. A request without tools is for a summary. */
function script({ calls, summarise }: SummaryCase) {
  /** What the summariser has read, if it answered. */
  const summarised: string[] = [];
  let attempts = 0;
  const respond = ({ messages, tools }: Pick<ChatRequest, "messages" | "tools">): WantedReply | number => {
    const contents = messages.map(({ content }) => JSON.stringify(content ?? ""));
    if (tools.length === 0) {
      const turns = [...contents.join().matchAll(/Turn (\d+)\. /g)].map(([, turn]) => Number(turn));
      const reply = summarise(attempts, Math.max(...turns));
      attempts += 1;
      if (isSummary(reply)) summarised.push(contents.join("\n"));
      return reply;
    }
    const asked = contents.findLastIndex(
      (text, index) => messages[index]?.role === "user" && /"?Turn \d/.test(text),
    );
    const turn = Number(/.*Turn (\d+)\. /s.exec(contents[asked] ?? "")?.[1]);
    if (messages.slice(asked + 1).some(({ role }) => role === "tool")) return { text: answerOf(turn) };
    return {
      calls: Array.from({ length: calls }, (_, index) => ({
        name: "look",
        args: { at: `${turn}-${index}` },
      })),
    };
  };
  return { summarised, respond, attempts: () => attempts };
}

/** It names the latest request, because some agents cover that too while it is worked on. */
const answers: Summariser = (_attempt, latest) => ({
  text: `They looked at places. The latest request is Turn ${latest}. They go on.`,
});

interface SummaryCase {
  readonly id: string;
  readonly calls: number;
  readonly summarise: Summariser;
  readonly isLong?: true;
  /** How many turns can fail with an error, because the user can write again. @default 0 */
  readonly mayFail?: number;
  /** What the user writes in each turn. */
  readonly price?: string;
}

const CASES: readonly SummaryCase[] = [
  ...[1, 2, 3].map((calls) => ({
    id: `a summary of turns with ${calls === 1 ? "one call" : `${calls} parallel calls`}`,
    calls,
    summarise: answers,
  })),
  { id: "a summary of a long turn", calls: 1, summarise: answers, isLong: true },
  // A text that is put into a prompt as a replacement can expand.
  { id: "a summary of prices in dollars", calls: 1, summarise: answers, price: "$1 or $&" },
  { id: "the summariser is refused", calls: 2, summarise: () => 400 },
  {
    id: "the summariser is refused once",
    calls: 2,
    mayFail: 1,
    summarise: (attempt, latest) => (attempt === 0 ? 400 : answers(attempt, latest)),
  },
  { id: "the summariser says nothing", calls: 2, summarise: () => ({ text: "" }) },
  {
    id: "the summariser says nothing once",
    calls: 2,
    summarise: (attempt, latest) => (attempt === 0 ? { text: "" } : answers(attempt, latest)),
  },
  { id: "the summariser says only spaces", calls: 2, summarise: () => ({ text: " \n " }) },
];

export const summaries: Suite = {
  name: "summaries",
  passes:
    "A thread outgrows its budget, and is summarised. Every turn ends with its answer, and every request is valid. What the user wrote is in the thread, or a summariser that answered has read it as it was written.",
  // The others leave the length of a thread to their callers.
  applies: ({ summarises }) => summarises,
  open: async (adapter) => ({
    cases: CASES.map((one) => ({
      id: one.id,
      run: async (): Promise<Outcome> => {
        const { summarised, respond, attempts } = script(one);
        const server = await startModelServer(respond);
        // The same requests are checked by the strict provider, which knows no failing summariser.
        const strict = await startStrictProvider();
        try {
          const endpoint = { host: "openai" as const, url: server.url.replace(/\/v1$/, ""), window: WINDOW };
          const agent = await adapter.open({ endpoint, tools: [LOOK], summary: SUMMARY });
          const failure = await playTurns(agent, one);
          const input = { turns: TURNS.length, calls: one.calls, window: WINDOW, summary: SUMMARY };
          if (failure !== undefined) return fault(failure, input, server.bodies.map(describe));
          if (attempts() === 0) return DASH;
          for (const body of server.bodies) {
            const refusal = await refusalOf(strict.url("openai"), body);
            if (refusal !== undefined) return fault(refusal, input, body);
          }
          const stored = (await agent.read()).map(textOfStored);
          const texts = [...stored, ...summarised];
          const lost = TURNS.filter((turn) => !texts.some((text) => text.includes(priceOf(turn, one.price))));
          if (lost.length === 0) return PASS;
          const reason = `What the user wrote in the turns ${lost.join(", ")} is neither in the thread nor in a summary.`;
          const shorten = (text: string) => text.replaceAll(/(?:some words )+/g, "… ");
          return fault(reason, input, {
            stored: stored.map(shorten),
            summarised: summarised.map(shorten),
          });
        } finally {
          await Promise.all([server.stop(), strict.stop()]);
        }
      },
    })).concat(forkCases(adapter)),
    concurrency: 3,
    close: async () => {},
  }),
};

async function playTurns(agent: Agent, one: SummaryCase): Promise<string | undefined> {
  let failed = 0;
  for (const turn of TURNS) {
    try {
      const answer = await agent.send([human(requestOf(turn, one))]);
      if (answer !== answerOf(turn)) return `Turn ${turn} ended with "${answer.slice(0, 80)}".`;
    } catch (error) {
      failed += 1;
      if (failed > (one.mayFail ?? 0)) return `Turn ${turn}: ${messageOf(error)}`;
    }
  }
  return undefined;
}

/** Its messages are too long to print. */
function describe({ messages, tools }: Readonly<Record<string, unknown>>) {
  const list = Array.isArray(messages) ? messages : [];
  return {
    isForSummary: tools === undefined,
    messages: list.map((message) => JSON.stringify(message).slice(0, 100)),
  };
}
