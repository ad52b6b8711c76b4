/** Checks what the command of a tool writes to the state, before it is written. */

import { Command, isCommand } from "@langchain/langgraph";
import { fieldsOfCommand } from "../../langgraph/own-command.js";
import type { OwnState } from "../../settings/schemas/own-state.js";
import { isError } from "../../shared/is-error.js";
import { readUpdate } from "./command-with-messages.js";
import type { CallOutcome } from "./finalize-call.js";

/**
 * A command whose update has only keys of the state, with values as the user's schema makes them. LangGraph would drop
 * an unknown key in silence, and a value that does not match would end the run. What is left out is told to the model.
 * A command to a parent graph is not checked, because its keys are those of that graph.
 *
 * Contract: never rejects. If the command cannot be read, its tool counts as failed.
 */
export async function checkCommand(outcome: CallOutcome, state: OwnState): Promise<CallOutcome> {
  try {
    return outcome.kind === "returned" && isCommand(outcome.value) && outcome.value.graph === undefined
      ? await check(outcome.value, state)
      : outcome;
  } catch (error) {
    return { kind: "threw", error };
  }
}

async function check(command: Command, state: OwnState): Promise<CallOutcome> {
  const whole = { kind: "returned", value: command } as const;
  if (command.update === undefined || command.update === null) return whole;
  const given = readUpdate(command.update);
  if (given === undefined) return { ...whole, faults: [NO_OBJECT] };
  const update: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (key === "messages") update[key] = value;
    else if (!state.keys.includes(key)) faults.push(unknownKey(key, state.keys));
    else {
      try {
        update[key] = await state.read(key, value);
      } catch (error) {
        faults.push(`\`${key}\` was not written. ${isError(error) ? error.message : ""}`.trim());
      }
    }
  }
  if (faults.length === 0 && state.keys.length === 0) return whole;
  return { kind: "returned", value: new Command({ ...fieldsOfCommand(command), update }), faults };
}

const NO_OBJECT = "Nothing was written, because the update is not an object.";

function unknownKey(key: string, own: readonly string[]): string {
  const known = ["messages", ...own].map((name) => `\`${name}\``).join(", ");
  return `\`${key}\` was not written, because the state has no such key. Its keys are: ${known}.`;
}
