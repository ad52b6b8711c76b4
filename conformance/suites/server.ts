/** Runs on a LangGraph server that are cancelled, and what the next message of the user gets. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startDevServer } from "../../scripts/dev-server.js";
import { playCalls } from "../../test/support/call-script.js";
import { startStrictProvider } from "../../test/support/strict-provider/start-strict-provider.js";
import { fault, messageOf, type Outcome, PASS, type Suite } from "../suite.js";

const CONFIG = fileURLToPath(new URL("../served/langgraph.json", import.meta.url));
/** Only a run that does not begin takes this long. */
const LONGEST_WAIT_MS = 300_000;
/** Some save the result of a tool before the other tools of its batch have ended, and some do not. */
const LONGEST_SAVE_MS = 15_000;

interface Message {
  readonly id?: string;
  readonly type: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly name: string }[];
}

type Started = Awaited<ReturnType<typeof startDevServer>>;

/** One thread of the served implementation. */
interface Served {
  readonly label: string;
  /** Begins a batch of two calls. Resolves to the run when one tool has ended and the other has begun. */
  begin(): Promise<string>;
  cancel(run: string): Promise<void>;
  /** Sends "hello". Rejects if the run fails. */
  hello(options?: object): Promise<readonly Message[]>;
  read(): Promise<readonly Message[]>;
  update(messages: readonly unknown[]): Promise<void>;
}

const HELLO = "I read: hello";
const textOf = (message: Message | undefined) => String(message?.content);

const greeted = (messages: readonly Message[]): Outcome =>
  textOf(messages.at(-1)) === HELLO ? PASS : fault("The next message got no answer.", undefined, messages);

const CASES: Readonly<Record<string, (thread: Served) => Promise<Outcome>>> = {
  "cancelled, then the next message": async (thread) => {
    await thread.cancel(await thread.begin());
    return greeted(await thread.hello());
  },
  "cancelled: the result of the tool that had finished": async (thread) => {
    await thread.cancel(await thread.begin());
    const messages = await thread.hello();
    const has = messages.some((message) => textOf(message) === `deaf done ${thread.label}`);
    return has ? greeted(messages) : fault("The result of the finished tool is lost.", undefined, messages);
  },
  "cancelled, then a late result": async (thread) => {
    await thread.cancel(await thread.begin());
    await thread.hello();
    const call = (await thread.read())
      .flatMap(({ tool_calls = [] }) => tool_calls)
      .find(({ name }) => name === "heedful");
    await thread.update([{ type: "tool", content: "late news", tool_call_id: call?.id, name: "heedful" }]);
    const messages = await thread.hello();
    const has = messages.some((message) => textOf(message) === "late news");
    return has ? greeted(messages) : fault("The late result is lost.", undefined, messages);
  },
  "a new message interrupts the run": async (thread) => {
    await thread.begin();
    return greeted(await thread.hello({ multitaskStrategy: "interrupt" }));
  },
  "a new message rolls the run back": async (thread) => {
    await thread.begin();
    return greeted(await thread.hello({ multitaskStrategy: "rollback" }));
  },
  "cancelled, and the message with the calls is removed": async (thread) => {
    await thread.cancel(await thread.begin());
    await thread.hello().catch(() => {});
    const asked = (await thread.read()).find(({ tool_calls = [] }) => tool_calls.length > 0);
    await thread.update([{ type: "remove", role: "remove", content: "", id: asked?.id }]);
    return greeted(await thread.hello());
  },
};

export const server: Suite = {
  name: "server",
  passes:
    "On a LangGraph server a run is cancelled, interrupted or rolled back while one of two tools runs. The next message gets its answer, and what a tool returned is in the thread.",
  applies: ({ makeGraph }) => makeGraph !== undefined,
  open: async (adapter) => {
    const folder = mkdtempSync(join(tmpdir(), "tether-conformance-"));
    const log = join(folder, "tools.log");
    const strict = await startStrictProvider(playCalls);
    const env = { TOOL_LOG: log, STRICT_URL: new URL(strict.url("openai")).origin };
    const started = await startDevServer({ config: CONFIG, env, startTimeoutMs: LONGEST_WAIT_MS });
    return {
      cases: Object.entries(CASES).map(([id, play], index) => ({
        id,
        run: async () => {
          const thread = await openServed(started.client, adapter.name, log, `label-${index}`);
          try {
            return await play(thread);
          } catch (error) {
            return fault(messageOf(error), undefined, await thread.read());
          }
        },
      })),
      concurrency: 6,
      close: async () => {
        await started.stop();
        await strict.stop();
        rmSync(folder, { recursive: true });
      },
    };
  },
};

async function openServed(
  client: Started["client"],
  graph: string,
  log: string,
  label: string,
): Promise<Served> {
  const { thread_id } = await client.threads.create();
  const inputOf = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
  const hasBegun = () => {
    const lines = readLines(log);
    return lines.includes(`end deaf:${label}`) && lines.includes(`begin heedful:${label}`);
  };
  const read = async () => {
    const { values } = await client.threads.getState<{ messages?: Message[] }>(thread_id);
    return values.messages ?? [];
  };
  const hasSaved = async () => {
    const { tasks } = await client.threads.getState(thread_id);
    return tasks.some((task) =>
      JSON.stringify(Reflect.get(task, "result") ?? null).includes(`deaf done ${label}`),
    );
  };
  return {
    label,
    read,
    begin: async () => {
      const text = `call heedful {"label": "${label}", "ms": 60000} and call deaf {"label": "${label}"}`;
      const { run_id } = await client.runs.create(thread_id, graph, inputOf(text));
      for (let waited = 0; !hasBegun(); waited += 20) {
        if (waited > LONGEST_WAIT_MS) throw new Error("The tools did not begin.");
        await delay(20);
      }
      // A tool's end is not yet the end of its task.
      for (let waited = 0; waited < LONGEST_SAVE_MS && !(await hasSaved()); waited += 200) await delay(200);
      return run_id;
    },
    cancel: (run) => client.runs.cancel(thread_id, run, true),
    hello: async (options = {}) => {
      await client.runs.wait(thread_id, graph, { ...inputOf("hello"), ...options });
      return read();
    },
    update: async (messages) => {
      await client.threads.updateState(thread_id, { values: { messages } });
    },
  };
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}
