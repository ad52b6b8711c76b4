/** Plays thousands of turns in which everything goes wrong, and checks each thread after each turn. */

import type { BaseMessage } from "@langchain/core/messages";
import { isPlaceholder } from "../../src/history/result.js";
import { coverageOf } from "../../src/history/summary.js";
import type { MissingMessages } from "../../src/index.js";
import { ALL_KINDS, TURN_KINDS, type TurnKind, turnText } from "../fixtures/soak/turn-kinds.js";
import { strictViolations } from "../support/strict-check.js";

export interface SoakThread {
  /** Runs the graph, and waits for the end. It rejects if the run fails. */
  send(messages: readonly object[], from?: string): Promise<void>;
  /** Begins a run, cancels it when a tool of it has finished, and waits for the end. */
  cancel(messages: readonly object[]): Promise<void>;
  update(messages: readonly object[]): Promise<void>;
  read(): Promise<BaseMessage[]>;
  /** The complete conversation, also at an older checkpoint. It throws if the archive has lost a message. */
  readAll(from?: string): Promise<BaseMessage[]>;
  /** The ids of the checkpoints after finished turns, from the latest. */
  checkpoints(): Promise<string[]>;
  remove(): Promise<void>;
}

export interface SoakHost {
  open(): Promise<SoakThread>;
  /** The size of the heap of the process with the graph, in megabytes. */
  heap(): Promise<number>;
}

/** Fails for an archive that has lost a message. */
export const failForMissing = {
  onMissing: ({ messages }: MissingMessages) => {
    throw new Error(`The archive has lost ${messages.join()}.`);
  },
};

export interface SoakOptions {
  readonly host: SoakHost;
  readonly turns: number;
  /** @default 50 */
  readonly turnsOfThread?: number;
  /** How many threads run at once. @default 1 */
  readonly threadsAtOnce?: number;
  /** The size of the heap is read after this many turns. @default a tenth of the turns */
  readonly turnsBetweenReadings?: number;
  readonly onReading?: (reading: Reading) => void;
}

export interface Reading {
  readonly turns: number;
  readonly heapInMegabytes: number;
}

export interface Soak {
  readonly turns: number;
  readonly threads: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly failed: number;
  readonly summaries: number;
  readonly readings: readonly Reading[];
  /** What must never be. Empty if all is well. */
  readonly faults: readonly string[];
}

export async function runSoak(options: SoakOptions): Promise<Soak> {
  const { host, turns, turnsOfThread = 50, threadsAtOnce = 1, onReading } = options;
  const between = options.turnsBetweenReadings ?? Math.ceil(turns / 10);
  const kinds: Record<string, number> = {};
  const faults: string[] = [];
  const readings: Reading[] = [];
  let [begun, done, threads, failed, summaries] = [0, 0, 0, 0, 0];

  const playThread = async (thread: SoakThread) => {
    /** The texts of the user that the conversation must have, in order. */
    let expected: string[] = [];
    for (let turn = 0; turn < turnsOfThread && begun < turns; turn += 1) {
      const number = begun;
      begun += 1;
      // Each thread goes through all kinds, and they meet in other orders in the next one.
      const kind = ALL_KINDS[(number * 7 + threads) % ALL_KINDS.length] ?? "plain";
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      try {
        const { hasFailed, texts } = await playTurn(thread, kind, number, expected);
        expected = texts;
        if (hasFailed) failed += 1;
        faults.push(...(await check(thread, expected)).map((fault) => `${kind} ${number}: ${fault}`));
      } catch (error) {
        faults.push(`${kind} ${number}: ${error}`);
      }
      done += 1;
      if (done % between === 0) {
        const reading = { turns: done, heapInMegabytes: await host.heap() };
        readings.push(reading);
        onReading?.(reading);
      }
    }
    const state = await thread.read();
    summaries += state.filter((message) => coverageOf(message) !== undefined).length;
    await thread.remove();
  };
  const work = async () => {
    while (begun < turns) {
      threads += 1;
      await playThread(await host.open());
    }
  };
  await Promise.all(Array.from({ length: threadsAtOnce }, work));
  return { turns: done, threads, kinds, failed, summaries, readings, faults };
}

const human = (content: string, id?: string) => ({ type: "human", content, ...(id !== undefined && { id }) });

/** Returns whether the run failed, and the texts of the user that the conversation must have from now on. */
async function playTurn(thread: SoakThread, kind: TurnKind, number: number, before: readonly string[]) {
  const text = turnText(kind, number);
  const send = async (run: () => Promise<void>): Promise<boolean> => {
    const failure = await run().then(
      () => undefined,
      (error: unknown) => error ?? "an error",
    );
    const hasFailed = failure !== undefined;
    // A cancellation can come after the end.
    const isRight = kind === "cancel" || kind === "late" || hasFailed === (TURN_KINDS[kind] === "fails");
    if (!isRight) throw new Error(hasFailed ? `it failed: ${failure}` : "it did not fail");
    return hasFailed;
  };
  switch (kind) {
    case "cancel":
    case "late": {
      const hasFailed = await send(() => thread.cancel([human(text)]));
      if (kind === "late") await bringLateResult(thread, number);
      return { hasFailed, texts: [...before, text] };
    }
    case "edit": {
      const hasFailed = await send(() => thread.send([human(text)]));
      const last = (await thread.read()).findLast(({ type }) => type === "human");
      await thread.update([human(`edited ${text}`, last?.id)]);
      return { hasFailed, texts: [...before, `edited ${text}`] };
    }
    case "remove": {
      const hasFailed = await send(() => thread.send([human(text)]));
      const response = (await thread.read()).findLast((message) => hasCalls(message));
      if (response?.id !== undefined) await thread.update([{ type: "remove", id: response.id }]);
      return { hasFailed, texts: [...before, text] };
    }
    case "fork": {
      const from = (await thread.checkpoints())[2];
      const texts = from === undefined ? before : textsOf(await thread.readAll(from));
      return { hasFailed: await send(() => thread.send([human(text)], from)), texts: [...texts, text] };
    }
    case "orphan": {
      const orphan = { type: "tool", content: "nobody asked", tool_call_id: `nobody_${number}` };
      const twice = human(text, `twice_${number}`);
      return {
        hasFailed: await send(() => thread.send([orphan, twice, twice])),
        texts: [...before, text],
      };
    }
    default:
      return { hasFailed: await send(() => thread.send([human(text)])), texts: [...before, text] };
  }
}

const hasCalls = (message: BaseMessage) =>
  message.type === "ai" && (Reflect.get(message, "tool_calls") ?? []).length > 0;

/** The next message closes the calls of the cancelled run. Then the result of one of them comes. */
async function bringLateResult(thread: SoakThread, number: number): Promise<void> {
  // The text is not one of the turns, so the model takes it as a plain one.
  await thread.send([{ type: "human", content: "Go on.", id: `go_on_${number}` }]);
  const late = (await thread.read()).findLast((message) => message.type === "tool" && isPlaceholder(message));
  if (late === undefined) return;
  const id: unknown = Reflect.get(late, "tool_call_id");
  await thread.update([{ type: "tool", content: `late ${number}`, tool_call_id: id }]);
  const found = (await thread.readAll()).find((message) => Reflect.get(message, "tool_call_id") === id);
  if (found?.text !== `late ${number}`) throw new Error(`the late result is not there, but ${found?.text}`);
}

const textsOf = (messages: readonly BaseMessage[]) =>
  messages
    .filter(({ type, text }) => type === "human" && /^(?:edited )?turn /.test(text))
    .map(({ text }) => text);

/** The faults of a thread between two runs. `read` fails for a state that is not in the form of a state. */
async function check(thread: SoakThread, expected: readonly string[]): Promise<string[]> {
  await thread.read();
  const all = await thread.readAll();
  const found = textsOf(all);
  const lost = expected.filter((text) => !found.includes(text));
  const faults = lost.map((text) => `the message \`${text.slice(0, 30)}\` is lost`);
  if (lost.length === 0 && found.join() !== expected.join()) faults.push("messages of the user moved");
  const last = all.at(-1);
  // Calls of a failed run wait for the next message.
  if (last?.type === "ai" && !hasCalls(last)) faults.push(...strictViolations(all));
  return faults;
}
