/** Slow, as a development server writes its state only some seconds after the last change: `SLOW_TESTS=1`. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { readLog, Thread, until } from "./served.js";
import { AGENTS } from "./shared-server.js";

const directory = await mkdtemp(join(tmpdir(), "tether-crash-"));
afterAll(() => rm(directory, { recursive: true, force: true }));

const optionsFor = (name: string) => ({
  config: AGENTS,
  stateDirectory: join(directory, name),
  env: { TOOL_LOG: join(directory, `${name}.log`) },
});
const REQUEST = 'call heedful {"ms": 60000} and call deaf {"label": "saved"}';

/** Whether the server's file of checkpoints holds a text. Its values are in base64. */
async function isSaved(stateDirectory: string, text: string): Promise<boolean> {
  const path = join(stateDirectory, ".langgraph_api", ".langgraphjs_api.checkpointer.json");
  const file = await readFile(path, "utf8").catch(() => "");
  const values = file.match(/[\w+/]{20,}={0,2}/g) ?? [];
  return values.some((value) => Buffer.from(value, "base64").toString().includes(text));
}

it.skipIf(process.env["SLOW_TESTS"] !== "1").each(["kill", "stop"] as const)(
  "a server that gets a signal (%s) in the middle of a batch loses nothing that a tool had returned",
  async (end) => {
    const options = optionsFor(end);
    const TOOL_LOG = options.env.TOOL_LOG;
    const first = await startDevServer(options);
    const { thread_id } = await first.client.threads.create();
    await new Thread(first.client, "probe", thread_id).begin(REQUEST);
    await until(() => readLog(TOOL_LOG).includes("end deaf:saved"));
    if (end === "kill") {
      await until(() => isSaved(options.stateDirectory, "deaf done saved"));
      // The runs are written to a file of their own, at about the same time.
      await delay(500);
    }
    // SIGTERM lets the server write its state.
    await first[end]();

    const second = await startDevServer(options);
    try {
      // The run of the first server is still written down as busy, so the thread goes on as a copy.
      const copied = await second.client.threads.copy(thread_id);
      const thread = new Thread(second.client, "probe", copied.thread_id);
      await thread.send("are you back?");
      expect((await thread.script()).slice(0, 5)).toEqual([
        `human: ${REQUEST}`,
        "ai> heedful deaf",
        expect.stringMatching(/^tool! Tool call heedful .*: a new message came before it finished\./),
        "tool: deaf done saved",
        "human: are you back?",
      ]);
      await thread.expectToGoOn();
    } finally {
      await second.stop();
    }
  },
);
