import { expect } from "vitest";

/**
 * What `script` gives, in few lines: `lines("human: go | ai> look", "tool! Tool call look… | ai: fine")`. `…` stands for
 * any text that is not empty.
 */
export function lines(...scripts: readonly string[]): unknown[] {
  return scripts
    .flatMap((text) => text.split(" | "))
    .map((line) => (line.includes("…") ? expect.stringMatching(patternOf(line)) : line));
}

function patternOf(line: string): RegExp {
  const parts = line.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".+")}$`, "s");
}
