/** Checks what a client or a parent graph writes to the own keys of the state. */

import { Command, isCommand } from "@langchain/langgraph";
import { fieldsOfCommand } from "../../langgraph/own-command.js";
import { readUpdate } from "../../nodes/tools/command-with-messages.js";
import type { OwnState } from "../../settings/schemas/own-state.js";
import { isRecord } from "../../shared/is-record.js";

/**
 * The input of a run, or the values of a state update, with own keys as the schema of the user makes them. An own key
 * that is undefined counts as left out.
 *
 * @throws InvalidStateError for the first value that does not match its schema.
 */
export async function admitValues<Values>(values: Values, state: OwnState): Promise<Values> {
  return (state.keys.length === 0 ? values : await admit(values, state)) as Values;
}

async function admit(values: unknown, state: OwnState): Promise<unknown> {
  if (isCommand(values)) {
    const update = readUpdate(values.update);
    if (update === undefined) return values;
    return new Command({ ...fieldsOfCommand(values), update: await admitFields(update, state) });
  }
  // A list of updates. Those of a copied checkpoint are pairs with the name of their node.
  if (Array.isArray(values)) return Promise.all(values.map((value) => admit(value, state)));
  return isRecord(values) ? admitFields(values, state) : values;
}

async function admitFields(
  fields: Record<string, unknown>,
  { keys, read }: OwnState,
): Promise<Record<string, unknown>> {
  const admitted: Record<string, unknown> = { ...fields };
  for (const key of keys) {
    const value = fields[key];
    if (value === undefined) delete admitted[key];
    else admitted[key] = await read(key, value);
  }
  return admitted;
}
