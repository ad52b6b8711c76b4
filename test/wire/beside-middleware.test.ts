/**
 * What the table of docs/existing-agents.md promises: beside each middleware of LangChain, at each place where it may
 * stand, a refused request and a broken response are sent again as without it, over HTTP with a real client.
 */

import { readFileSync } from "node:fs";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import {
  type AgentMiddleware,
  anthropicPromptCachingMiddleware,
  contextEditingMiddleware,
  createMiddleware,
  humanInTheLoopMiddleware,
  llmToolSelectorMiddleware,
  modelCallLimitMiddleware,
  modelFallbackMiddleware,
  modelRetryMiddleware,
  piiMiddleware,
  summarizationMiddleware,
  todoListMiddleware,
  toolErrorMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { createLook } from "../support/chain-script.js";
import { openAIAt } from "../support/clients.js";
import { type Respond, startModelServer } from "../support/model-server.js";
import { FunctionModel } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { OVERFLOW_REFUSALS } from "../support/overflow-refusals.js";
import { stopAtEnd } from "../support/test-tools.js";
import { createProbe } from "../support/tools.js";

const PICTURE = { type: "image", mimeType: "image/png", data: "cGljdHVyZQ==" };
const LIMIT = 2_000;
const ANSWER = "All is well.";
const LOOKUP = "Look up Oslo.";
let lookups = 0;

/** Refuses pictures and long requests, and breaks the stream of each call. */
const respond: Respond = ({ messages }) => {
  const sent = JSON.stringify(messages);
  if (sent.includes(PICTURE.data)) return { status: 400, message: "You uploaded an unsupported image." };
  const tokens = Math.ceil(sent.length / 4);
  if (tokens > LIMIT) return { status: 400, message: OVERFLOW_REFUSALS.openai.message(tokens, LIMIT) };
  const isLookup = String(messages.at(-1)?.content).startsWith(LOOKUP);
  if (!isLookup) return { text: ANSWER };
  return { calls: [{ name: "look", args: { city: "Oslo" } }], fault: "by a reset connection" };
};

const server = stopAtEnd(await startModelServer(respond));
const openModel = (model = "test") => openAIAt(server.url, { model });

const FAULTS = {
  "a refused picture": { before: [], message: new HumanMessage({ content: [PICTURE] as never }) },
  "a request that is too long": {
    before: Array.from({ length: 8 }, (_, index) => [
      new HumanMessage(`${index} ${"word ".repeat(600)}`),
      new AIMessage("I see."),
    ]).flat(),
    message: new HumanMessage("And now?"),
  },
  "a broken stream": { before: [], message: new HumanMessage(LOOKUP) },
} as const;
type FaultName = keyof typeof FAULTS;
const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

/** What a run with this fault leaves, and what it sent. */
async function play(fault: FaultName, middleware: readonly AgentMiddleware[]) {
  const { before } = FAULTS[fault];
  lookups += 1;
  // The server breaks only the first response to the same messages.
  const message =
    fault === "a broken stream" ? new HumanMessage(`${LOOKUP} ${lookups}`) : FAULTS[fault].message;
  const { look } = createLook();
  const { fast } = createProbe();
  const thread = openAgent({ model: openModel(), tools: [look, fast], middleware });
  await thread.update([new HumanMessage("Hello!"), new AIMessage("Hi!"), ...before]);
  const earlier = server.requests.length;
  const { error, events } = await thread.run({ messages: [message] });
  const requests = server.requests.length - earlier;
  const stored = (await thread.read()).map(({ type, content }) => ({ type, content }));
  return { error, requests, events: events.map(({ type }) => type), stored, message };
}

/** The same with `tetherMiddleware` alone. */
const ALONE = {
  "a refused picture": { requests: 2, events: ["input-reduced"] },
  "a request that is too long": { requests: 2, events: ["input-reduced"] },
  "a broken stream": { requests: 3, events: ["response-broken"] },
} as const satisfies Readonly<Record<FaultName, object>>;

function expectAlive(fault: FaultName, played: Awaited<ReturnType<typeof play>>): void {
  expect(played).toMatchObject({ error: undefined, ...ALONE[fault] });
  const { before } = FAULTS[fault];
  const { message } = played;
  const given = [{ content: "Hello!" }, { content: "Hi!" }, ...before, message];
  expect(played.stored.map(({ content }) => content)).toEqual([
    ...given.map(({ content }) => content),
    ...(fault === "a broken stream" ? ["", "Oslo: clear"] : []),
    ANSWER,
  ]);
}

/** Selects the tool `look`. */
function selecting() {
  const answer = async () => ({ tools: ["look"] });
  return Object.assign(new FunctionModel(() => ""), { withStructuredOutput: () => ({ invoke: answer }) });
}

/** Each middleware of the table. With `exactOptionalPropertyTypes`, LangChain's type of some options is `never`. */
const CASES: Readonly<Record<string, () => unknown>> = {
  modelFallbackMiddleware: () => modelFallbackMiddleware(openModel("other") as never),
  toolErrorMiddleware: () => toolErrorMiddleware({ onError: () => "It failed." }),
  toolRetryMiddleware: () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 }),
  contextEditingMiddleware: () => contextEditingMiddleware(),
  summarizationMiddleware: () =>
    summarizationMiddleware({
      model: new FunctionModel(() => "They talked."),
      trigger: { messages: 500 },
    } as never),
  humanInTheLoopMiddleware: () => humanInTheLoopMiddleware({ interruptOn: { fast: true } } as never),
  anthropicPromptCachingMiddleware: () =>
    anthropicPromptCachingMiddleware({ unsupportedModelBehavior: "ignore" } as never),
  llmToolSelectorMiddleware: () => llmToolSelectorMiddleware({ model: selecting(), maxTools: 1 } as never),
  modelCallLimitMiddleware: () => modelCallLimitMiddleware({ threadLimit: 50 } as never),
  modelRetryMiddleware: () => modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false }),
  piiMiddleware: () => piiMiddleware("email", { strategy: "redact", applyToInput: true }),
  todoListMiddleware: () => todoListMiddleware(),
};
const make = (name: string) => CASES[name]?.() as AgentMiddleware;

/** The rows of the table, one for each middleware, with the first words about its place. */
function rowsOfTable(): readonly (readonly [name: string, place: string])[] {
  const page = readFileSync("docs/existing-agents.md", "utf8");
  const [, section = ""] = page.split("### Beside other middleware\n");
  const [table = ""] = section.split(/\n#+ /);
  return table.split("\n").flatMap((row) => {
    const [, names = "", place = ""] = row.split("|");
    return [...names.matchAll(/`(\w+Middleware)`/g)].map(([, name = ""]) => [name, place.trim()] as const);
  });
}

const ROWS = rowsOfTable();

it("Every middleware of the table has a case here, and every case stands in the table", () => {
  expect(ROWS.map(([name]) => name).toSorted()).toEqual(Object.keys(CASES).toSorted());
  for (const [name, place] of ROWS) expect(place, name).toMatch(/^(Anywhere|Before|After)\b/);
});

it.each(FAULT_NAMES)("Alone: %s", async (fault) => {
  expectAlive(fault, await play(fault, [tetherMiddleware()]));
});

describe.each(ROWS.filter(([name]) => name in CASES))("`%s`", (name, place) => {
  it.each(FAULT_NAMES)("before this one: %s", async (fault) => {
    expectAlive(fault, await play(fault, [make(name), tetherMiddleware()]));
  });

  // What differs for those that must stand before is tested below.
  if (!place.startsWith("Before"))
    it.each(FAULT_NAMES)("after this one: %s", async (fault) => {
      expectAlive(fault, await play(fault, [tetherMiddleware(), make(name)]));
    });
});

const ANYWHERE = ROWS.filter(([, place]) => place.startsWith("Anywhere")).map(([name]) => name);
const passing = (_: unknown, index: number) =>
  createMiddleware({ name: `own-${index}`, wrapModelCall: (request, handler) => handler(request) });

/** Two and three neighbours of the table together, after this one and around it. */
const TOGETHER = ANYWHERE.flatMap((first, index) => {
  const [second = "", third = ""] = [1, 2].map((more) => ANYWHERE[(index + more) % ANYWHERE.length]);
  return [
    [[], [first, second]],
    [[first], [second]],
    [[], [first, second, third]],
    [[first], [second, third]],
  ] as const;
});

describe("Together, a refusal and a broken response are sent again", () => {
  it.each(TOGETHER)("between %j and %j", async (before, after) => {
    for (const fault of FAULT_NAMES) {
      const list = [...before.map(make), tetherMiddleware(), ...after.map(make)];
      expectAlive(fault, await play(fault, list));
    }
  });

  it.each(FAULT_NAMES)("before all others that can stand anywhere, and ten of a user: %s", async (fault) => {
    const own = Array.from({ length: 10 }, passing);
    expectAlive(fault, await play(fault, [tetherMiddleware(), ...ANYWHERE.map(make), ...own]));
  });
});

describe("What the table says of another place:", () => {
  const retry = (onFailure: "continue" | "error") =>
    modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false, onFailure });

  it("`modelRetryMiddleware` after this one makes an answer of the error of a refused request", async () => {
    const { requests, stored } = await play("a refused picture", [tetherMiddleware(), retry("continue")]);
    expect(requests).toBe(1);
    expect(stored.at(-1)?.content).toContain("Model call failed after 1 attempt");
  });

  it('with `onFailure: "error"`, it repeats no refused request', async () => {
    expectAlive("a refused picture", await play("a refused picture", [tetherMiddleware(), retry("error")]));
  });

  it("`modelFallbackMiddleware` after this one ends the run with the refusal of the fallback model", async () => {
    const fallback = make("modelFallbackMiddleware");
    const { error, requests } = await play("a refused picture", [tetherMiddleware(), fallback]);
    expect(String(error)).toContain("You uploaded an unsupported image.");
    expect(ModelError.isInstance(error)).toBe(false);
    expect(requests).toBe(2);
  });
});
