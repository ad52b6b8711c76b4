import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { startRun } from "../../examples/stop-run.js";
import { serve, until } from "../e2e/served.js";

const served = serve();
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

it("docs/serving.md shows the example that stops a run", () => {
  const [code = ""] = /^import[\s\S]*/m.exec(read("examples/stop-run.ts")) ?? [];
  expect(code).toContain("export function startRun");
  expect(read("docs/serving.md")).toContain(`\`\`\`ts\n${code}\`\`\``);
});

const closed = expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/);

async function begin(label: string) {
  const thread = await served.thread("probe");
  const send = (content: string) => startRun(served.client, thread.id, "probe", content);
  const run = send(
    `call heedful {"label": "${label}"} and call heedful {"label": "${label}-cut", "ms": 600000}`,
  );
  const read = async ({ parts }: typeof run) => {
    for await (const { event, data } of parts) if (event === "error") return data.message;
    return "ended";
  };
  const ended = read(run).catch(() => "left");
  await until(() => served.log().includes(`begin heedful:${label}-cut`));
  await until(() => served.log().includes(`end heedful:${label}`));
  return { thread, run, ended, next: () => read(send("and now?")) };
}

it.each<[string, string, (run: ReturnType<typeof startRun>) => Promise<void>]>([
  ["its stop button", "stop", (run) => run.stop()],
  ["the next message", "next", async () => {}],
])("The example stops a run by %s, and the thread goes on.", async (_, label, stop) => {
  const { thread, run, ended, next } = await begin(label);
  await stop(run);
  expect(await next()).toBe("ended");
  await ended;
  expect((await thread.script()).slice(1, 5)).toEqual([
    "ai> heedful heedful",
    `tool: heedful done ${label}`,
    closed,
    "human: and now?",
  ]);
});
