import { afterEach, beforeEach, expect, type MockInstance, vi } from "vitest";

/** LangChain's, of a message whose calls are not in its list. */
export const OLD_PACKAGES = /^New LangChain packages are available/;

/** The tests of this file or block may warn of this and of nothing else. It does not reach the output. */
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
