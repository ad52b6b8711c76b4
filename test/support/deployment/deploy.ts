/** Writes a deployment: threads of real agents, of which the caller knows what is wrong with each. */

import { eachOf } from "../async.js";
import { AGENT_NAMES, type AgentName } from "./agents.js";
import type { Driver } from "./driver.js";
import { type Made, RECIPES } from "./recipes.js";
import type { WorkCall } from "./strict-worker.js";

export interface DeployedThread extends Required<Pick<Made, "findings" | "kept">> {
  readonly agent: AgentName;
  readonly threadId: string;
  readonly kind: "sound" | "broken" | "waiting" | "busy";
  /** What happened to it. */
  readonly story: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface DeployOptions {
  readonly threads: number;
  /** How many of them are broken. At least one of each recipe and agent takes part if there are enough. */
  readonly broken: number;
  /** How many wait for a human, and how many have a run. */
  readonly waiting: number;
  readonly busy?: number;
  /** Contract: gives the driver of a new thread. */
  readonly open: (agent: AgentName, threadId: string) => Driver | Promise<Driver>;
  /** @default all */
  readonly agents?: readonly AgentName[];
  /** How many threads are written at once. @default 8 */
  readonly concurrency?: number;
}

interface Story {
  readonly agent: AgentName;
  readonly kind: DeployedThread["kind"];
  readonly story: string;
  readonly make: (driver: Driver, prefix: string) => Promise<Made>;
}

/** A story for each of these agents, in which nothing is found. */
const quiet = (
  agents: readonly AgentName[],
  kind: Story["kind"],
  story: string,
  tell: (driver: Driver, prefix: string) => Promise<unknown> = async () => {},
): Story[] =>
  agents.map((agent) => ({
    agent,
    kind,
    story,
    make: async (driver, prefix) => {
      await tell(driver, prefix);
      return { findings: [] };
    },
  }));

/** Each way in which an agent waits for a human. */
const WAITING: readonly Story[] = [
  ...quiet(
    ["langchain", "delta", "deep", "ours"],
    "waiting",
    "a call waits for an approval",
    (driver, prefix) => driver.work([{ id: `${prefix}p`, name: "pay" }]),
  ),
  ...quiet(
    ["langchain", "react", "ours"],
    "waiting",
    "a tool asks a human, and a call beside it has finished",
    (driver, prefix) =>
      driver.work([
        { id: `${prefix}l`, name: "look" },
        { id: `${prefix}q`, name: "ask" },
      ]),
  ),
  ...quiet(["gated"], "waiting", "the agent stopped before its tools", (driver, prefix) =>
    driver.work([{ id: `${prefix}l`, name: "look" }]),
  ),
];

const BUSY = quiet(["langchain", "react", "deep", "ours"], "busy", "a run goes on", async (driver, prefix) =>
  driver.leaveBusy?.([
    { id: `${prefix}l`, name: "look" },
    { id: `${prefix}h`, name: "hold" },
  ]),
);

const SOUND: readonly Story[] = [
  ...quiet(
    ["ours"],
    "sound",
    "the agent itself has answered a call whose arguments were cut off",
    (driver, prefix) => driver.work([{ id: `${prefix}cut`, name: "store", isCut: true }]),
  ),
  ...AGENT_NAMES.flatMap((agent) => [
    ...quiet([agent], "sound", "turns"),
    ...quiet([agent], "sound", "nobody has written to it since it was edited", (driver) =>
      driver.edit([{ role: "user", content: "A note." }]),
    ),
  ]),
];

/** Each recipe once, then each with its next agent, and so on. */
const BROKEN: readonly Story[] = AGENT_NAMES.flatMap((_, round) =>
  RECIPES.flatMap(({ name, agents, make }, index): Story[] => {
    const agent = agents[(index + round) % agents.length];
    return agent === undefined || round >= agents.length
      ? []
      : [{ agent, kind: "broken", story: name, make }];
  }),
);

/** The same options write the same threads, apart from ids of messages and times. */
export async function deploy(options: DeployOptions): Promise<DeployedThread[]> {
  const { threads, broken, waiting, busy = 0, open, agents = AGENT_NAMES, concurrency } = options;
  const take = (stories: readonly Story[], count: number): Story[] => {
    const own = stories.filter(({ agent }) => agents.includes(agent));
    return Array.from({ length: count }, (_, index) => own[index % own.length] ?? []).flat();
  };
  const sound = threads - broken - waiting - busy;
  // A busy thread takes a worker of its server, so it comes last.
  const stories = [
    ...take(BROKEN, broken),
    ...take(WAITING, waiting),
    ...take(SOUND, sound),
    ...take(BUSY, busy),
  ];
  const deployThread = async (
    { agent, kind, story, make }: Story,
    index: number,
  ): Promise<DeployedThread> => {
    const driver = await open(agent, `${agent}-${index}`);
    const prefix = `t${index}_`;
    const turns = (index % 3) + (kind === "sound" ? 1 : 0);
    for (let turn = 0; turn < turns; turn += 1) await playTurn(driver, `${prefix}${turn}`, turn);
    const { findings, kept = [], values = {} } = await make(driver, prefix);
    return { agent, threadId: driver.threadId, kind, story, findings, kept, values };
  };
  return eachOf(stories, deployThread, concurrency);
}

/** A sound turn with tools, which also writes what the agent keeps beside its messages. */
async function playTurn(driver: Driver, id: string, turn: number): Promise<void> {
  const { agent } = driver;
  const todos = [{ content: `task ${id}`, status: "pending" }];
  const calls: WorkCall[] = [{ id: `${id}look`, name: "look", args: { label: id } }];
  if (agent === "deep") {
    const args = { file_path: `/${id}.txt`, content: id };
    calls.push({ id: `${id}file`, name: "write_file", args });
  } else calls.push({ id: `${id}count`, name: "count", args: { value: turn + 1 } });
  if (agent === "langchain" || agent === "delta" || agent === "deep")
    calls.push({ id: `${id}todo`, name: "write_todos", args: { todos } });
  // The gated agent would wait.
  const error = agent === "gated" ? await driver.say("Hello.") : await driver.work(calls);
  if (error !== undefined) throw new Error(`A sound turn of ${agent} failed.`, { cause: error });
}
