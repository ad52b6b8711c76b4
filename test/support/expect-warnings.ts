import { afterEach, beforeEach, expect, type MockInstance, vi } from "vitest";

/** LangChain's warning about a message whose calls are not in its list. */
export const OLD_PACKAGES = /^New LangChain packages are available/;

/** Allows the tests of a file or block to log this warning and no other. It is not printed. */
export function expectWarnings(...patterns: readonly RegExp[]): void {
  let warn: MockInstance<typeof console.warn>;
  beforeEach(() => {
    warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  });
  afterEach(() => {
    const texts = warn.mock.calls.map((words) => words.join(" "));
    warn.mockRestore();
    expect(texts.filter((text) => !patterns.some((pattern) => pattern.test(text)))).toEqual([]);
  });
}
