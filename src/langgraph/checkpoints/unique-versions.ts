import { randomInt } from "node:crypto";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { replaceMethods } from "../replace-methods.js";

/** A fraction has this many values. A double can hold one beside the number of two million supersteps. */
const FRACTIONS = 2 ** 32;

/**
 * A view of a checkpointer that numbers the versions of channels so that two runs never use the same number: 3.42
 * instead of 3.
 *
 * A saver can store the value of a channel under its version, and keep the first value of each version, as
 * `PostgresSaver` does. If two runs start from the same checkpoint, and both number their versions 4, 5, 6, each of
 * them reads what the other one wrote. That happens after a fork, after an edit of the past, with two processes, and
 * if the last write of a killed process arrives late.
 *
 * The numbers of a thread still grow, so threads with plain numbers continue. Versions that are not numbers stay as
 * the checkpointer makes them.
 */
export function withUniqueVersions(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  const fraction = randomInt(1, FRACTIONS) / FRACTIONS;
  const getNextVersion: BaseCheckpointSaver["getNextVersion"] = (current) => {
    const next: unknown = saver.getNextVersion(typeof current === "number" ? Math.floor(current) : current);
    return (Number.isInteger(next) ? Number(next) + fraction : next) as number;
  };
  return replaceMethods(saver, { getNextVersion });
}
