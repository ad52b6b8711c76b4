/**
 * Writes `test/support/recorded-shapes.json`, from which tests make conversations that are shaped as recorded ones.
 * It keeps who speaks, which call ids and tools are used, which calls have results, and how long each text is. It
 * keeps no word of what was said, and tools are numbered.
 *
 * The recordings are gpt-4o's of https://github.com/sierra-research/tau-bench (MIT License, Copyright (c) 2024
 * Sierra), every second task of `historical_trajectories/gpt-4o-airline.json`:
 *
 * ```sh
 * jq -c '.[] | select(.task_id % 2 == 0) | { messages: .traj }' gpt-4o-airline.json > recordings.jsonl
 * npx tsx scripts/write-recorded-shapes.ts recordings.jsonl
 * ```
 */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A message in OpenAI's chat format. */
interface RecordedMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

const TARGET = fileURLToPath(new URL("../test/support/recorded-shapes.json", import.meta.url));

const [, , source] = process.argv;
if (source === undefined) throw new Error("Expected the path of the recordings, one JSON object a line.");
const conversations = readFileSync(source, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line): { readonly messages: readonly RecordedMessage[] } => JSON.parse(line));

const callNumbers = new Map<string, number>();
const toolNumbers = new Map<string, number>();

/** From 1, in the order in which the names are met, so that a name used again has its number again. */
function numberOf(numbers: Map<string, number>, name: string): number {
  const number = numbers.get(name) ?? numbers.size + 1;
  numbers.set(name, number);
  return number;
}

function shapeOf({ role, content, tool_calls, tool_call_id, name }: RecordedMessage): string {
  const length = content?.length ?? 0;
  switch (role) {
    case "system":
      return `s${length}`;
    case "user":
      return `u${length}`;
    case "tool":
      return `r${numberOf(callNumbers, tool_call_id ?? "")}.${numberOf(toolNumbers, name ?? "")}.${length}`;
    case "assistant": {
      const [call, ...others] = tool_calls ?? [];
      if (call === undefined) return `a${length}`;
      if (others.length > 0) throw new Error("Expected at most one call in a message.");
      const { id, function: called } = call;
      const numbers = `${numberOf(callNumbers, id)}.${numberOf(toolNumbers, called.name)}`;
      return `c${numbers}.${called.arguments.length}.${length}`;
    }
    default:
      throw new Error(`Expected a message of the chat format, got one of the role ${role}.`);
  }
}

const shapes = conversations.map(({ messages }) => messages.map(shapeOf).join(" "));
writeFileSync(TARGET, `${JSON.stringify(shapes, undefined, 2)}\n`);
