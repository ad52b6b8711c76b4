/** The programs of `examples`. Most run in this process, as a process of its own takes seconds to load LangChain. */

import { readFileSync } from "node:fs";
import { format } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { decide, questionsOf } from "../../examples/approve-calls.js";
import { startRun } from "../../examples/stop-run.js";
import { serve, until } from "../e2e/served.js";
import { runScript } from "../scripts/run-script.js";
import { DURABILITIES } from "../support/crashing-thread.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";

const served = serve();
let runs = 0;

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** The lines that a program prints. */
async function linesOf(name: string, words: readonly string[] = [], env: object = {}): Promise<string[]> {
  for (const [key, value] of Object.entries({ MODEL: "offline:", ...env })) vi.stubEnv(key, value);
  const print = vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(process, "argv", "get").mockReturnValue(["node", name, ...words]);
  runs += 1;
  await import(/* @vite-ignore */ `../../examples/${name}.ts?run=${runs}`);
  return print.mock.calls.flatMap((values) => format(...values).split("\n"));
}

/** The first database is the program's memory. */
const DATABASES = [undefined, process.env["DATABASE_URL"]].filter((url, index) => index === 0 || url);

describe.each(DATABASES.map((url) => [url === undefined ? "memory" : "PostgreSQL", url] as const))(
  "An agent of LangChain over %s",
  (_title, url) => {
    it.each(DURABILITIES)("recovers what a cancelled run had done: %s", async (durability) => {
      const lines = await linesOf("create-agent", [], { DATABASE_URL: url, DURABILITY: durability });
      expect(lines.slice(0, 3)).toEqual([
        "(cancelled)",
        'human: call sky {"city": "Paris"} and call wait {"seconds": 600}',
        "tool: Paris: clear sky",
      ]);
      expect(lines[3]).toMatch(/^tool: Tool call wait .*: a new message came before it finished/);
      expect(lines).toContain("- sky returned: Paris: clear sky");
    });
  },
);

it("A graph of one's own goes on after a call without a result, and puts a late one in its place.", async () => {
  expect(await linesOf("own-graph")).toEqual([
    "human: How is the sky over Rome?",
    "ai: ",
    "tool: Rome: clear sky",
    'human: call sky {"city": "Paris"}',
    "ai: ",
    "tool: Paris: clear sky",
    "ai: sky returned: Paris: clear sky",
  ]);
});

it("The supervisor hands the conversation to an agent, and gets it back.", async () => {
  expect((await linesOf("hand-off")).slice(1, -1)).toEqual([
    "forecaster: weather returned: Paris: 18 °C",
    "forecaster: Transferring back to supervisor",
    "transfer_back_to_supervisor: Successfully transferred back to supervisor",
  ]);
});

it("The second of two models is asked only while the provider of the first is down.", async () => {
  const start = (text: string) =>
    startStrictProvider(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text } : { calls: [{ name: "sky", args: { city: "Paris" } }] },
    );
  const [openAI, anthropic] = await Promise.all([
    start("It is clear."),
    start("It is clear, says the second."),
  ]);
  const env = {
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: `${openAI.url("openai")}/v1`,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: anthropic.url("anthropic"),
  };
  try {
    const question = "human: How is the sky?";
    const first = await linesOf("fallback-models", ["How is the sky?"], env);
    expect(first).toEqual([question, "tool: Paris: clear sky", "ai: It is clear."]);
    expect(anthropic.requests).toEqual([]);
    openAI.failNext(...Array(9).fill({ status: 503 }));
    vi.restoreAllMocks();
    expect(await linesOf("fallback-models", ["How is the sky?"], env)).toEqual([
      question,
      "(gpt-4o-mini failed, so claude-sonnet-4-5 is asked)",
      "tool: Paris: clear sky",
      "ai: It is clear, says the second.",
    ]);
    expect(anthropic.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  } finally {
    await Promise.all([openAI.stop(), anthropic.stop()]);
  }
});

it("A message is sent to a run that goes on.", async () => {
  const lines = await linesOf("steering", [], { SERVER: served.url });
  expect(lines[0]).toMatch(/^steered: [\w-]{36}$/);
  expect(lines.slice(1)).toEqual([
    "human: What is 6 * 7?",
    "ai: ",
    "tool: 42",
    ...(lines[4] === "ai: 6 * 7 = 42" ? ["ai: 6 * 7 = 42"] : []),
    "human: What is 20 + 22?",
    "ai: ",
    "tool: 42",
    expect.stringContaining("20 + 22 = 42"),
  ]);
});

it.each([
  ["docs/serving.md", "examples/stop-run.ts", "export function startRun"],
  ["docs/approvals.md", "examples/approve-calls.ts", "export function decide"],
])("%s shows %s.", (page, example, beginning) => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const [code = ""] = /^import[\s\S]*/m.exec(read(example)) ?? [];
  expect(code).toContain(beginning);
  expect(read(page)).toContain(`\`\`\`ts\n${code}\`\`\``);
});

it("Calls of a thread are approved one after the other, with another call beside them.", async () => {
  const { client, id } = await served.thread("approving");
  const labels = ["approve-1", "approve-2"];
  const content = [...labels.map((label) => `call deaf {"label": "${label}"}`), "call heedful {}"].join(
    " and ",
  );
  await client.runs.wait(id, "approving", { input: { messages: [{ role: "user", content }] } });
  for (const label of labels) {
    const [question] = await questionsOf(client, id);
    expect(question?.request.action_requests[0]?.args).toEqual({ label });
    await decide(client, id, "approving", question?.id ?? "", [{ type: "approve" }]);
  }
  expect(await questionsOf(client, id)).toEqual([]);
  expect(served.hasLogged("end deaf:approve-1", "end deaf:approve-2")).toBe(true);
});

it.each(["its stop button", "the next message"])(
  "A run is stopped by %s, and the thread goes on.",
  async (by) => {
    const thread = await served.thread("probe");
    const label = `stop-${thread.id}`;
    const begin = (content: string) => startRun(served.client, thread.id, "probe", content);
    const read = async ({ parts }: ReturnType<typeof begin>) => {
      for await (const { event, data } of parts) if (event === "error") return data.message;
      return "ended";
    };
    const run = begin(
      `call heedful {"label": "${label}"} and call heedful {"label": "${label}-cut", "ms": 600000}`,
    );
    const ended = read(run).catch(() => "left");
    await until(() => served.hasLogged(`begin heedful:${label}-cut`, `end heedful:${label}`));
    if (by === "its stop button") await run.stop();
    expect(await read(begin("and now?"))).toBe("ended");
    await ended;
    expect((await thread.script()).slice(1, 5)).toEqual([
      "ai> heedful heedful",
      `tool: heedful done ${label}`,
      expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/),
      "human: and now?",
    ]);
  },
);

/** It installs a PostgreSQL server when it is used first, and starts two processes that load DBOS. */
it.runIf(process.env["SLOW_TESTS"] === "1")(
  "Many machines finish the turn of a worker that is killed, and the turn after one that is cancelled.",
  async () => {
    const program = runScript("../examples/many-machines/run.ts");
    expect(await program.ended, program.errors()).toBe(0);
    const output = program.output().replaceAll(/^worker-\d(?=:)/gm, "worker");
    const endedBy = (signal: string) =>
      new RegExp(`^(worker-\\d) has ended: ${signal}$`, "m").exec(output)?.[1];
    expect([endedBy("SIGKILL"), endedBy("SIGTERM")].toSorted()).toEqual(["worker-1", "worker-2"]);
    for (const line of [
      "worker: sky: Paris: clear sky",
      "- sky returned: Paris: clear sky",
      "worker: sky: Lyon: clear sky",
      "worker: wait: waited 2 s",
      "The response: sky returned: Oslo: clear sky",
    ])
      expect(output.split("\n")).toContain(line);
  },
);
