/** Sequences of updates of a thread, as clients and other branches make them. */

import { mapChatMessagesToStoredMessages, type StoredMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { build, type Entry, entries } from "../../test/support/arbitraries.js";
import { ANSWER, startStrictProvider } from "../../test/support/strict-provider/start-strict-provider.js";
import type { ToolSpec } from "../adapter.js";
import { ai, human, removal, toolResult } from "../stored.js";
import { fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

interface Sequence {
  readonly id: string;
  readonly updates: readonly (readonly unknown[])[];
  /** Texts that the model must see in the end. */
  readonly keeps?: readonly string[];
}

const LOOK: ToolSpec = {
  name: "look",
  description: "Looks.",
  schema: { type: "object", properties: {} },
  run: () => "looked",
};

const turn = [human("hello", "u1"), ai("", ["c1", "c2"], "a1"), toolResult("c1", "one", "r1")];
const whole = [...turn, toolResult("c2", "two", "r2"), ai("done", [], "a2")];

const NAMED: readonly Sequence[] = [
  {
    id: "a late result",
    updates: [turn, [human("next", "u2")], [toolResult("c2", "late")]],
    keeps: ["one", "late", "next"],
  },
  {
    id: "results in the reverse order",
    updates: [
      [human("hello", "u1"), ai("", ["c1", "c2"], "a1")],
      [toolResult("c2", "two")],
      [toolResult("c1", "one")],
    ],
    keeps: ["one", "two"],
  },
  {
    id: "the same result twice",
    updates: [whole, [toolResult("c2", "two", "again")]],
    keeps: ["one", "two"],
  },
  {
    id: "the message with the calls is removed",
    updates: [whole, [removal("a1")]],
    keeps: ["hello", "done"],
  },
  { id: "a result is removed", updates: [whole, [removal("r2")]], keeps: ["one"] },
  { id: "an unknown message is removed", updates: [whole, [removal("unknown")]], keeps: ["one", "two"] },
  { id: "a message is removed twice", updates: [whole, [removal("a2")], [removal("a2")]], keeps: ["one"] },
  {
    id: "the user writes before the results",
    updates: [
      [human("hello", "u1"), ai("", ["c1"], "a1")],
      [human("steer", "u2")],
      [toolResult("c1", "one")],
    ],
    keeps: ["steer", "one"],
  },
  { id: "a message loses a call", updates: [whole, [ai("", ["c1"], "a1")]], keeps: ["one"] },
  {
    id: "a message gets another call",
    updates: [whole, [ai("", ["c1", "c2", "c3"], "a1")]],
    keeps: ["one", "two"],
  },
  {
    id: "a result without a call",
    updates: [whole, [toolResult("c9", "nobody asked")]],
    keeps: ["one", "two"],
  },
  {
    id: "a call id is used again",
    updates: [
      [human("hello", "u1"), ai("", ["c1"], "a1"), toolResult("c1", "one", "r1")],
      [ai("", ["c1"], "a3")],
    ],
    keeps: ["one"],
  },
  {
    id: "a thread is sent again as a whole",
    updates: [whole, whole, [human("next", "u2")]],
    keeps: ["one", "two", "next"],
  },
  {
    id: "the list is cleared and written again without the results",
    updates: [whole, [removal("__remove_all__"), human("hello", "u1"), ai("", ["c1"], "a1")]],
    keeps: ["hello"],
  },
];

const GENERATED = 16;
const KINDS: ReadonlySet<Entry["kind"]> = new Set<Entry["kind"]>(["human", "ai", "result"]);

/** Only what every client can send: plain messages, with the ids of the generator. */
function plain(list: readonly Entry[]): readonly Entry[] {
  return list
    .filter((one) => KINDS.has(one.kind))
    .map((one) => {
      const form = "form" in one ? { form: "message" as const } : {};
      const text = "text" in one ? { text: one.text === "" ? "word" : one.text } : {};
      const id = "id" in one && one.id === "" ? { id: "m9" } : {};
      const call = one.kind === "result" && one.call === "" ? { call: "c1" } : {};
      const calls =
        one.kind === "ai"
          ? {
              calls: one.calls
                .filter((each) => each.id !== "")
                .map((each) => ({ ...each, place: "listed" as const })),
            }
          : {};
      return { ...one, ...form, ...text, ...id, ...call, ...calls } as Entry;
    });
}

const generated: readonly Sequence[] = fc
  .sample(entries(14), { numRuns: GENERATED * 2, seed: 17 })
  .map(plain)
  .filter((list) => list.length > 2)
  .slice(0, GENERATED)
  .map((list, index) => ({
    id: `generated sequence ${index + 1}`,
    updates: mapChatMessagesToStoredMessages(build(list) as never[]).map((message) => [message]),
  }));

export const updates: Suite = {
  name: "updates",
  passes:
    "A thread is changed by updates outside its runs. An update can be refused with an error. Then the user writes: the provider accepts the request, and the texts that were not removed are in it.",
  applies: ({ makeGraph }) => makeGraph !== undefined,
  open: async (adapter) => {
    const strict = await startStrictProvider();
    const run = async ({ updates: list, keeps = [] }: Sequence): Promise<Outcome> => {
      const agent = await adapter.open({
        endpoint: { host: "openai", url: strict.url("openai") },
        tools: [LOOK],
      });
      const before = strict.requests.length;
      let stored: readonly StoredMessage[] = [];
      const refused: string[] = [];
      try {
        for (const update of list)
          await agent.update?.(update).catch((error: unknown) => refused.push(messageOf(error)));
        stored = await agent.read();
        const answer = await agent.send([human("Go on.")]);
        if (answer !== ANSWER) return fault("The run ended without the model's answer.", list, answer);
      } catch (error) {
        return fault(messageOf(error), list, { stored, refused });
      }
      const body = strict.requests.slice(before).at(-1)?.body;
      const lost = ["Go on.", ...keeps].find((text) => !JSON.stringify(body).includes(text));
      return lost === undefined ? PASS : fault(`The model did not see "${lost}".`, list, body);
    };
    return {
      cases: [...NAMED, ...generated].map((sequence) => ({ id: sequence.id, run: () => run(sequence) })),
      close: strict.stop,
    };
  },
};
