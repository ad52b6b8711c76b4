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

const TOOL_LOG = join(directory, "tools.log");
const options = { config: AGENTS, stateDirectory: join(directory, "state"), env: { TOOL_LOG } };
const REQUEST = 'call heedful {"ms": 60000} and call deaf {"label": "saved"}';

const CHECKPOINTS = join(options.stateDirectory, ".langgraph_api", ".langgraphjs_api.checkpointer.json");

/** Whether the server's file of checkpoints holds a text. Its values are in base64. */
async function isSaved(text: string): Promise<boolean> {
  const file = await readFile(CHECKPOINTS, "utf8").catch(() => "");
  const values = file.match(/[\w+/]{20,}={0,2}/g) ?? [];
  return values.some((value) => Buffer.from(value, "base64").toString().includes(text));
}

it.skipIf(process.env["SLOW_TESTS"] !== "1")(
  "a server that is killed in the middle of a batch loses nothing that a tool had returned",
  async () => {
    const first = await startDevServer(options);
    const { thread_id } = await first.client.threads.create();
    await new Thread(first.client, "probe", thread_id).begin(REQUEST);
    await until(() => readLog(TOOL_LOG).includes("end deaf:saved"));
    await until(() => isSaved("deaf done saved"));
    // The runs are written to a file of their own, at about the same time.
    await delay(500);
    await first.kill();

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
