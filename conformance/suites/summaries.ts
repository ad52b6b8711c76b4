/** Summarisers that fail, and summaries of threads with parallel calls. */

import { type ChatRequest, startModelServer, type WantedReply } from "../../test/support/model-server.js";
import { startStrictProvider } from "../../test/support/strict-provider/start-strict-provider.js";
import type { Agent, ToolSpec } from "../adapter.js";
import { human, textOfStored } from "../stored.js";
import { DASH, fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

const TURNS = 7;
const FILLER = "some words ".repeat(400);
const requestOf = (turn: number) => `Turn ${turn}. The price is $& or $1. ${FILLER}`;
const answerOf = (turn: number) => `Turn ${turn} is done.`;

/** The window that the client is told. The prompt and the tools of deepagents alone have about 6,000 tokens. */
const WINDOW = 12_000;
const SUMMARY = { tokens: 5000, keep: 4 } as const;

const LOOK: ToolSpec = {
  name: "look",
  description: "Looks.",
  schema: { type: "object", properties: { at: { type: "string" } } },
  run: ({ at }) => `looked at ${at}`,
};

type Summariser = (attempt: number) => WantedReply | number;

/** What the model says: some calls in each turn, then an answer. A request without tools is for a summary. */
function script(calls: number, summarise: Summariser) {
  const prompts: string[] = [];
  const respond = ({ messages, tools }: Pick<ChatRequest, "messages" | "tools">): WantedReply | number => {
    const contents = messages.map(({ content }) => JSON.stringify(content ?? ""));
    if (tools.length === 0) {
      prompts.push(contents.join("\n"));
      return summarise(prompts.length - 1);
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
  return { prompts, respond };
}

const LITERAL = "the summariser reads the user's words";

const CASES: readonly { readonly id: string; readonly calls: number; readonly summarise: Summariser }[] = [
  ...[1, 2, 3].map((calls) => ({
    id: `a summary of turns with ${calls === 1 ? "one call" : `${calls} parallel calls`}`,
    calls,
    summarise: () => ({ text: "They looked at places." }),
  })),
  { id: LITERAL, calls: 1, summarise: () => ({ text: "They looked at places." }) },
  { id: "the summariser is refused", calls: 2, summarise: () => 400 },
  {
    id: "the summariser is refused once",
    calls: 2,
    summarise: (attempt) => (attempt === 0 ? 400 : { text: "They looked." }),
  },
  { id: "the summariser says nothing", calls: 2, summarise: () => ({ text: "" }) },
  { id: "the summariser says only spaces", calls: 2, summarise: () => ({ text: " \n " }) },
  {
    id: "the summary is cut off in its stream",
    calls: 2,
    summarise: () => ({ text: "They looked at", finish: "length" }),
  },
];

export const summaries: Suite = {
  name: "summaries",
  title: "summaries",
  passes:
    "A thread outgrows its budget. Every turn ends with its answer, and every request is valid. If the summariser fails, no message leaves the thread and the model still sees what no summary represents. The summariser reads the user's words as they were written.",
  applies: ({ summarises }) => summarises,
  open: async (adapter) => ({
    cases: CASES.map(({ id, calls, summarise }) => ({
      id,
      run: async (): Promise<Outcome> => {
        const { prompts, respond } = script(calls, summarise);
        const server = await startModelServer(respond);
        // The same requests are checked by the strict provider, which knows no failing summariser.
        const strict = await startStrictProvider();
        try {
          const endpoint = { host: "openai" as const, url: server.url.replace(/\/v1$/, ""), window: WINDOW };
          const agent = await adapter.open({ endpoint, tools: [LOOK], summary: SUMMARY });
          const failure = await playTurns(agent);
          const input = { turns: TURNS, calls, endpoint, summary: SUMMARY };
          if (failure !== undefined) return fault(failure, input, server.bodies.at(-1));
          if (prompts.length === 0) return DASH;
          for (const body of server.bodies) {
            const refusal = await refusalOf(strict.url("openai"), body);
            if (refusal !== undefined) return fault(refusal, input, body);
          }
          if (id === LITERAL && !prompts.join("\n").includes("$& or $1"))
            return fault(
              "The summariser did not read the user's words as they were written.",
              input,
              prompts[0],
            );
          return checkKept(agent, summarise(1), input, server.bodies.at(-1));
        } finally {
          await Promise.all([server.stop(), strict.stop()]);
        }
      },
    })),
    concurrency: 3,
    close: async () => {},
  }),
};

async function playTurns(agent: Agent): Promise<string | undefined> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    try {
      const answer = await agent.send([human(requestOf(turn))]);
      if (answer !== answerOf(turn)) return `Turn ${turn} ended with "${answer.slice(0, 80)}".`;
    } catch (error) {
      return `Turn ${turn}: ${messageOf(error)}`;
    }
  }
  return undefined;
}

async function refusalOf(url: string, body: object): Promise<string | undefined> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer test-key" },
    body: JSON.stringify({ ...body, stream: false }),
  });
  const text = await answer.text();
  return answer.ok ? undefined : text.slice(0, 400);
}

/** A summariser that fails for good leaves the messages where they were. */
async function checkKept(
  agent: Agent,
  last: WantedReply | number,
  input: unknown,
  body: unknown,
): Promise<Outcome> {
  if (typeof last !== "number" && (last.text ?? "").trim() !== "") return PASS;
  const texts = (await agent.read()).map(textOfStored);
  const lost = Array.from({ length: TURNS }, (_, turn) => turn).filter(
    (turn) => !texts.some((text) => text.includes(`Turn ${turn}. `)),
  );
  if (lost.length > 0)
    return fault(`The user's messages of the turns ${lost.join(", ")} are gone.`, input, body);
  return PASS;
}
