/** What the inspector says would be sent is what the model gets when the next message comes. */

import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGraphStore } from "../../src/doctor.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { createInspector } from "../../src/inspector.js";
import {
  AGENT_NAMES,
  type Agent,
  type CrashingRun,
  crashingThread,
  DURABILITIES,
  type Durability,
} from "../support/crashing-thread.js";
import { dieAnywhere, law } from "../support/test-tools.js";

const durability = fc.constantFrom(...DURABILITIES);
const run = fc.record({
  text: fc.constantFrom("work", "work on", "thanks", null),
  diesAt: fc.option(fc.integer({ min: 1, max: 70 }), { nil: undefined }),
});

/** What the page of the thread says of its next request. */
interface Foretold {
  readonly moment: { readonly kind: string };
  readonly input: readonly object[];
  readonly story: Readonly<Record<"willBeRecovered" | "willBeClosed", readonly object[]>>;
  readonly findings: readonly { readonly code: string; readonly evidence: string }[];
}

/**
 * Plays the runs, and compares what the inspector says of the next request with what the model of the next run gets.
 * Returns how the first run ended.
 */
async function expectForetold(agent: Agent, chosen: Durability, played: readonly CrashingRun[]) {
  const thread = crashingThread(chosen, undefined, agent);
  await thread.send({ text: "hello" });
  const ends: ("died" | "lived")[] = [];
  for (const run of played) ends.push(await thread.send(run));
  const store = createGraphStore({ graph: thread.reader, quietMs: 0 });
  const inspector = createInspector({ threads: () => store, isProtected: true });
  const page = await inspector(new Request("http://localhost/tether/threads/1.json"));
  const { moment, input, story, findings } = (await page.json()) as Foretold;
  expect(moment.kind).toBe("next");
  expectAgreement(findings, story);
  const before = thread.requests.length;
  await thread.send({ text: "…" });
  expect(linesOf(input.flatMap((message) => coerceMessage(message) ?? []))).toEqual(
    linesOf(thread.requests[before] ?? []),
  );
  return ends[0] ?? "lived";
}

/** Each call of which the doctor says that it can be recovered, or has no result, is one of the page's. */
function expectAgreement(
  findings: Foretold["findings"],
  { willBeRecovered, willBeClosed }: Foretold["story"],
) {
  const count = (...codes: string[]) => findings.filter(({ code }) => codes.includes(code)).length;
  const recoverable = count("state/pending-result");
  const open = count("pairing/dangling-call", "pairing/open-call");
  expect(willBeRecovered.length).toBeGreaterThanOrEqual(recoverable);
  expect(willBeClosed.length).toBeGreaterThanOrEqual(open - recoverable);
}

const FIELDS = ["type", "content", "name", "tool_calls", "tool_call_id", "status"] as const;

const linesOf = (messages: readonly BaseMessage[]) =>
  messages.map((message) => JSON.stringify(FIELDS.map((name) => [name, Reflect.get(message, name)])));

describe.each(AGENT_NAMES)("what would be sent by %s", (agent) => {
  it.each(DURABILITIES)("is what the next run sends, wherever the last one dies (%s)", async (chosen) => {
    await dieAnywhere(chosen === "exit" ? 10 : 30, (diesAt) =>
      expectForetold(agent, chosen, [{ text: "work", diesAt }]),
    );
  });

  const runs = fc.array(run, { minLength: 1, maxLength: 4 });
  law("is what the next run sends, if several runs die", 30, [durability, runs], (chosen, played) =>
    expectForetold(
      agent,
      chosen,
      played.map(({ text, diesAt }, index) => ({ text: text && `${text} ${index}`, diesAt })),
    ),
  );
});
