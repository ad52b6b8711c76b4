import { onTestFinished, vi } from "vitest";

/** Keeps what the test has printed as warnings from the output. Returns the texts, for the test to check. */
export function catchWarnings(): readonly string[] {
  const texts: string[] = [];
  const warn = vi.spyOn(console, "warn").mockImplementation((...words) => {
    texts.push(words.join(" "));
  });
  onTestFinished(() => warn.mockRestore());
  return texts;
}
