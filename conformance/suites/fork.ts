/** A thread that was summarised is forked from before its summary, and both branches go on. */

import { type ChatRequest, startModelServer, type WantedReply } from "../../test/support/model-server.js";
import type { Adapter } from "../adapter.js";
import { human, textOfStored } from "../stored.js";
import { type Case, DASH, fault, type Outcome, PASS } from "../suite.js";

/** Before the fork, and after it in each branch. Each turn has about a thousand tokens. */
const BEFORE = ["b0", "b1"];
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

export function forkCase(adapter: Adapter): Case {
  return { id: "a fork of a summarised thread", run: () => playFork(adapter) };
}

async function playFork(adapter: Adapter): Promise<Outcome> {
  /** What the model and the summariser have been asked in a branch, and in its latest request. */
  let read: string[] = [];
  let latest: string[] = [];
  const respond = ({ messages }: Pick<ChatRequest, "messages">): WantedReply => {
    latest = messages.map(({ content }) => JSON.stringify(content ?? ""));
    read.push(...latest);
    return { text: "They told names." };
  };
  const server = await startModelServer(respond);
  try {
    const endpoint = { host: "openai" as const, url: server.url.replace(/\/v1$/, ""), window: WINDOW };
    const look = { name: "look", description: "Looks.", schema: { type: "object" }, run: () => "looked" };
    const agent = await adapter.open({ endpoint, tools: [look], summary: SUMMARY });
    if (agent.remember === undefined) return DASH;
    const play = async (turns: readonly string[]) => {
      for (const turn of turns) await agent.send([human(`${nameOf(turn)} ${WORDS}`)]);
    };
    await play(BEFORE);
    const readBefore = read;
    let isSummarised = true;
    const goBack = await agent.remember();
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
    return isSummarised ? PASS : DASH;
  } finally {
    await server.stop();
  }
}
