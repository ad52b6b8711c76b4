/** Savers for tests in which a process dies. */

import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { onTestFinished } from "vitest";

/** A fresh saver for one test. */
export const SAVERS: { readonly name: string; readonly create: () => BaseCheckpointSaver }[] = [
  { name: "MemorySaver", create: () => new MemorySaver() },
  {
    name: "SqliteSaver",
    create: () => {
      const saver = SqliteSaver.fromConnString(":memory:");
      onTestFinished(() => void saver.db.close());
      return saver;
    },
  },
];

/**
 * The saver of a process that can die. A dead process saves nothing.
 *
 * @param lost What a dead process does not save: all writes, or only checkpoints, as if it died between the two.
 */
export function mortalSaver(saver: BaseCheckpointSaver, lost: readonly string[] = ["put", "putWrites"]) {
  let isDead = false;
  const mortal = new Proxy(saver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!lost.includes(String(name))) return value.bind(target);
      return async (...given: unknown[]) => {
        if (isDead) throw new Error("The process has died.");
        return Reflect.apply(value, target, given);
      };
    },
  });
  const die = (): void => {
    isDead = true;
  };
  return { mortal, die };
}
