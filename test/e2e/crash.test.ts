/** Slow, as a development server writes its state only some seconds after the last change: `SLOW_TESTS=1`. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { playCalls } from "../support/call-script.js";
import {
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { readLog, Thread, until } from "./served.js";
import { AGENTS } from "./shared-server.js";

const directory = await mkdtemp(join(tmpdir(), "tether-crash-"));
afterAll(() => rm(directory, { recursive: true, force: true }));

const TOOL_LOG = join(directory, "tools.log");
const stateDirectory = join(directory, "state");

const CHECKPOINTS = join(stateDirectory, ".langgraph_api", ".langgraphjs_api.checkpointer.json");

/** Whether the server's file of checkpoints holds a text. Its values are in base64. */
async function isSaved(text: string): Promise<boolean> {
  const file = await readFile(CHECKPOINTS, "utf8").catch(() => "");
  const values = file.match(/[\w+/]{20,}={0,2}/g) ?? [];
  return values.some((value) => Buffer.from(value, "base64").toString().includes(text));
}

/** Our agent, and those of LangChain and deepagents with the middleware. SIGTERM (`stop`) lets a server write its state. */
const CASES = [
  ["kill", "probe"],
  ["kill", "create_agent_tethered"],
  ["kill", "deep_agent"],
  ["stop", "probe"],
] as const;

describe.skipIf(process.env["SLOW_TESTS"] !== "1")(
  "a server that gets a signal in the middle of a batch",
  () => {
    let strict: StrictProvider;
    beforeAll(async () => {
      strict = await startStrictProvider(playCalls);
    });
    afterAll(() => strict.stop());

    it.each(CASES)("(%s) loses nothing that a tool of %s had returned", async (end, graph) => {
      const STRICT_URL = new URL(strict.url("openai")).origin;
      const options = { config: AGENTS, stateDirectory, env: { TOOL_LOG, STRICT_URL } };
      const label = `saved-${end}-${graph}`;
      const request = `call heedful {"ms": 60000} and call deaf {"label": "${label}"}`;
      const first = await startDevServer(options);
      const { thread_id } = await first.client.threads.create();
      await new Thread(first.client, graph, thread_id).begin(request);
      await until(() => readLog(TOOL_LOG).includes(`end deaf:${label}`));
      if (end === "kill") {
        await until(() => isSaved(`deaf done ${label}`));
        // The runs are written to a file of their own, at about the same time.
        await delay(500);
      }
      await first[end]();

      const second = await startDevServer(options);
      try {
        // The run of the first server is still written down as busy, so the thread goes on as a copy.
        const copied = await second.client.threads.copy(thread_id);
        const thread = new Thread(second.client, graph, copied.thread_id);
        await thread.send("are you back?");
        expect((await thread.script()).slice(0, 5)).toEqual([
          `human: ${request}`,
          "ai> heedful deaf",
          expect.stringMatching(/^tool! Tool call heedful .*: a new message came before it finished\./),
          `tool: deaf done ${label}`,
          "human: are you back?",
        ]);
        await thread.expectToGoOn();
        expect(readLog(TOOL_LOG).filter((line) => line === `begin deaf:${label}`)).toHaveLength(1);
      } finally {
        await second.stop();
      }
    });
  },
);
