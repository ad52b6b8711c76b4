import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { API_PAGE, renderApiPage } from "../../scripts/api-docs/render-api-page.js";

describe("docs/api.md", () => {
  const page = readFileSync(API_PAGE, "utf8");

  it("is what `npx tsx scripts/write-api-docs.ts` writes", () => {
    // Compared as a whole, as a diff of two pages says less than the command above.
    expect(page === renderApiPage()).toBe(true);
  });

  it("has a function with its signature and its errors", () => {
    expect(page).toMatch(
      /### createModel\n\n[^#]+function createModel\(name: string, [^#]+Throws:\n\n- `InvalidModelError` for /,
    );
  });

  it("shows a class without bodies and private members", () => {
    const [shown = ""] = /class AgentGraph\b[\s\S]*?```/.exec(page) ?? [];
    expect(shown).toContain("): Promise<AgentResult<Own>>;");
    expect(shown).not.toMatch(/#|return |constructor/);
  });

  it("marks what the entry for browsers exports as well", () => {
    expect(page).toMatch(/### repairHistory\n\n\*\*history\*\* · /);
    expect(page).not.toMatch(/### createAgentGraph\n\n\*\*history\*\*/);
  });
});
