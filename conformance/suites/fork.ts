/** A thread that was summarised is forked from before its summary, and both branches go on with valid requests. */

import { type ChatRequest, startModelServer, type WantedReply } from "../../test/support/model-server.js";
import { startStrictProvider } from "../../test/support/strict-provider/start-strict-provider.js";
import type { Adapter, ToolSpec } from "../adapter.js";
import { human, textOfStored } from "../stored.js";
import { type Case, DASH, fault, type Outcome, PASS } from "../suite.js";

/**
 * Where the other branch begins. LangGraph keeps a summary in the checkpoint, so a fork between two turns has its thread
 * as it was. In a tool call, the user writes where the results of the other branch are still to come.
 */
const PLACES = ["between two turns", "in a tool call"] as const;
type Place = (typeof PLACES)[number];

/** Before the fork, and after it in each branch. Each turn has about a thousand tokens. */
const BEFORE = ["b0", "b1"];
/** The turn in which the model calls a tool. */
const CALLING = "b1";
const BRANCHES = [
  ["l0", "l1", "l2", "l3", "l4", "l5"],
  ["r0", "r1", "r2", "r3", "r4", "r5"],
] as const;
const WORDS = "some words ".repeat(400);
const SUMMARY = { tokens: 4000, keep: 4 } as const;
const WINDOW = 12_000;

const nameOf = (turn: string) => `The name is ${turn}.`;
const namesIn = (texts: readonly string[]) =>
  new Set(texts.flatMap((text) => [...text.matchAll(/The name is (\w\d)\./g)].map(([, turn]) => turn ?? "")));

export const forkCases = (adapter: Adapter): Case[] =>
  PLACES.map((place) => ({
    id: `a summarised thread is forked ${place}`,
    run: () => playFork(adapter, place),
  }));

async function playFork(adapter: Adapter, place: Place): Promise<Outcome> {
  /** What the model and the summariser have been asked in a branch, and in its latest request. */
  let read: string[] = [];
  let latest: string[] = [];
  const respond = ({ messages, tools }: Pick<ChatRequest, "messages" | "tools">): WantedReply => {
    latest = messages.map(({ content }) => JSON.stringify(content ?? ""));
    read.push(...latest);
    const isAsked = messages.at(-1)?.role === "user" && latest.at(-1)?.includes(nameOf(CALLING));
    return isAsked && tools.length > 0
      ? { calls: [{ name: "look", args: {} }] }
      : { text: "They told names." };
  };
  const server = await startModelServer(respond);
  // The same requests are checked by the strict provider, which has no script.
  const strict = await startStrictProvider();
  try {
    const endpoint = { host: "openai" as const, url: server.url.replace(/\/v1$/, ""), window: WINDOW };
    let goBack: (() => void) | undefined;
    const look: ToolSpec = {
      name: "look",
      description: "Looks.",
      schema: { type: "object" },
      run: async () => {
        if (place === "in a tool call") goBack = await agent.remember?.();
        return "looked";
      },
    };
    const agent = await adapter.open({ endpoint, tools: [look], summary: SUMMARY });
    if (agent.remember === undefined) return DASH;
    const play = async (turns: readonly string[]) => {
      for (const turn of turns) await agent.send([human(`${nameOf(turn)} ${WORDS}`)]);
    };
    await play(BEFORE);
    const readBefore = read;
    let isSummarised = true;
    goBack ??= await agent.remember();
    for (const [index, turns] of BRANCHES.entries()) {
      if (index > 0) goBack();
      read = [...readBefore];
      await play(turns);
      const stored = (await agent.read()).map(textOfStored);
      const known = namesIn([...stored, ...read]);
      const own = [...BEFORE, ...turns];
      const lost = own.filter((turn) => !known.has(turn));
      if (lost.length > 0)
        return fault(`What the user wrote in the turns ${lost.join(", ")} of branch ${index} is lost.`);
      const foreign = [...known].filter((turn) => !own.includes(turn));
      if (foreign.length > 0)
        return fault(`Branch ${index} has the turns ${foreign.join(", ")} of the other one.`, own, stored);
      isSummarised &&= namesIn(latest).size < own.length;
    }
    for (const body of server.bodies) {
      const refusal = await refusalOf(strict.url("openai"), body);
      if (refusal !== undefined) return fault(refusal, BRANCHES, body);
    }
    return isSummarised ? PASS : DASH;
  } finally {
    await Promise.all([server.stop(), strict.stop()]);
  }
}

/** What the strict provider says to a request. Undefined: it accepts it. */
export async function refusalOf(url: string, body: object): Promise<string | undefined> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer test-key" },
    body: JSON.stringify({ ...body, stream: false }),
  });
  const text = await answer.text();
  return answer.ok ? undefined : text.slice(0, 400);
}
