/** Threads that outgrow the model's window, over HTTP. */

import {
  type Requested,
  startStrictProvider,
} from "../../test/support/strict-provider/start-strict-provider.js";
import { answerOf, createWindowScript } from "../../test/support/window-script.js";
import type { ToolSpec } from "../adapter.js";
import { human } from "../stored.js";
import { DASH, fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

/** The prompt and the tools of deepagents alone have about 6,000 tokens. */
const WINDOW = 24_000;
const SUMMARY = { tokens: 16_000, keep: 4 } as const;
const REQUEST_TURN = 1;
/** The turns, of which some have a long request, long results, or long arguments of their calls. */
const KINDS = {
  "a long request": [0, REQUEST_TURN, 4, 8],
  "long results": [0, 2, 4, 8],
  // A model writes no more than its window, so it takes two turns to fill it.
  "long arguments": [0, 3, 7, 8],
} as const satisfies Record<string, readonly number[]>;
const HOSTS = ["openai", "anthropic"] as const;

const { requestOf, resultOf, play } = createWindowScript(WINDOW, WINDOW * 1.2);
const LOOK: ToolSpec = {
  name: "look",
  description: "Looks at a place.",
  schema: {
    type: "object",
    properties: { turn: { type: "number" }, place: { type: "string" }, note: { type: "string" } },
    required: ["turn", "place", "note"],
  },
  run: ({ turn, place }) => resultOf(String(place), Number(turn)),
};

/** It names the latest request, because some agents cover that too while it is worked on. */
function summaryOf(messages: unknown): string {
  const turns = [...JSON.stringify(messages).matchAll(/Turn (\d+):/g)].map(([, turn]) => Number(turn));
  return `They looked at places. The latest request is Turn ${Math.max(...turns)}: look.`;
}

const hasTools = (body: unknown) => Array.isArray(Object(body).tools);

/** Its messages are too long to print. */
function describeRequest({ body, refusal }: Requested) {
  const { messages = [] } = Object(body);
  return {
    tools: hasTools(body),
    messages: messages.map((message: object) => JSON.stringify(message).slice(0, 100)),
    refusal,
    characters: JSON.stringify(body).length,
  };
}

export const windows: Suite = {
  name: "windows",
  passes:
    "A thread gets too long for the model's window, and short turns follow. The client knows the window, or has to learn it from the provider's refusal. Every turn ends with its answer; only a message of the user that alone is too long can be refused.",
  // The others leave the length of a thread to their callers.
  applies: ({ summarises }) => summarises,
  open: async (adapter) => {
    const strict = await startStrictProvider(
      // A request without tools is for a summary.
      ({ messages }) => (hasTools(strict.lastRequest()) ? play(messages) : { text: summaryOf(messages) }),
      { window: { tokens: WINDOW, charactersPerToken: 4 }, chunkSize: 20_000 },
    );
    const cases = HOSTS.flatMap((host) =>
      Object.entries(KINDS).flatMap(([kind, turns]) =>
        [true, false].map((known) => ({
          id: `${host}: ${kind}, ${known ? "a known window" : "an unknown window"}`,
          run: async (): Promise<Outcome> => {
            if (!adapter.hosts.includes(host)) return DASH;
            const endpoint = { host, url: strict.url(host), window: known ? WINDOW : ("unknown" as const) };
            const agent = await adapter.open({ endpoint, tools: [LOOK], summary: SUMMARY });
            const before = strict.requests.length;
            const sent = () => strict.requests.slice(before).map(describeRequest);
            for (const turn of turns) {
              try {
                const answer = await agent.send([human(requestOf(turn))]);
                if (answer !== answerOf(turn))
                  return fault(`Turn ${turn} ended with "${answer.slice(0, 80)}".`, { kind, known }, sent());
              } catch (error) {
                if (turn === REQUEST_TURN) continue;
                return fault(`Turn ${turn}: ${messageOf(error)}`, { kind, known }, sent());
              }
            }
            return PASS;
          },
        })),
      ),
    );
    return { cases, close: strict.stop };
  },
};
