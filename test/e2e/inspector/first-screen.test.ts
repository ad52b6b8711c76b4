/**
 * The first screen of a broken thread's page answers, without a click: why is it dead, what comes next, what do I do?
 * `PICTURES=FOLDER` keeps a picture of each page.
 */

import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGraphStore } from "../../../src/doctor.js";
import { serveInspector } from "../../support/internals.js";
import { accessibilityFaults, BROWSER, NEEDS_BROWSER, openBrowser } from "../../support/open-browser.js";
import { OLD_PACKAGES, passOverWarnings } from "../../support/test-tools.js";
import { brokenThreads } from "./broken-threads.js";

passOverWarnings(OLD_PACKAGES);

const PICTURES = process.env["PICTURES"];
const REPAIR = "npx langgraph-tether repair --sqlite threads.db --graph src/agent.ts:graph";
const FIRST_SCREEN = { width: 1280, height: 720 };

/** For each thread: the message with its fault, and its answers. */
const ANSWERS = {
  "cancelled in a tool": [
    "message 2",
    /will refuse the next message: weather has no result.*'tool_calls' must be followed by tool messages/,
    /The last run stopped before the end of tools/,
    /The next request has 3 messages as stored/,
    /A repair closes 1 call.*repair --sqlite threads.db .*--thread 'cancelled in a tool'/,
  ],
  "cut by a summary": [
    "message 2",
    /will refuse the next message: The result of weather .*has no call before it/,
    /The next request has 64 messages/,
    /A repair takes out 1 message/,
  ],
  "broken arguments": [
    "message 32",
    /will refuse the next message: weather has no result, and arguments that cannot be parsed/,
    /The next request has 63 messages/,
    /A repair closes 1 call/,
  ],
  "a refused picture": [
    "message 31",
    /The provider refused a picture or file/,
    /The last run failed.*400 .*image_url is only supported/,
    /The next request has 32 messages/,
    /Take it out of the thread/,
  ],
  "an orphan result": [
    "message 31",
    /will refuse the next message: The result of weather .*has no call before it/,
    /The next request has 63 messages/,
    /A repair takes out 1 message/,
  ],
  "waiting for approval": [
    undefined,
    /The thread waits for a human about pay/,
    /Resume the thread with an answer: new Command.*A new message instead leaves the calls without results/,
    /pay.*"amount":30.*approve/,
  ],
} as const satisfies Record<string, readonly [string | undefined, ...RegExp[]]>;

describe.skipIf(BROWSER === undefined)(`the page of a broken thread${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  let served: Awaited<ReturnType<typeof serveInspector>>;
  let state: Awaited<ReturnType<BrowserContext["storageState"]>>;
  beforeAll(async () => {
    browser = await openBrowser();
    const graph = await brokenThreads();
    served = await serveInspector(createGraphStore({ graph, quietMs: 0 }), { repairCommand: REPAIR });
    const context = await browser.newContext();
    await (await context.newPage()).goto(served.address);
    state = await context.storageState();
    await context.close();
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  const addressOf = (thread?: string) =>
    new URL(
      thread === undefined ? "/tether" : `/tether/threads/${encodeURIComponent(thread)}`,
      served.address,
    ).href;

  async function open(options: BrowserContextOptions, thread?: string): Promise<Page> {
    const page = await (await browser.newContext({ storageState: state, ...options })).newPage();
    await page.goto(addressOf(thread));
    return page;
  }

  it.each(Object.entries(ANSWERS))("%s: answers on the first screen", async (thread, [fault, ...answers]) => {
    const page = await open({ viewport: FIRST_SCREEN }, thread);
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${thread}.png`) });
    for (const answer of answers) {
      const place = page.locator("main dd, main section.panel").filter({ hasText: answer }).first();
      const box = await place.boundingBox();
      expect([answer, box !== null && box.y + box.height <= FIRST_SCREEN.height]).toEqual([answer, true]);
    }
    if (fault !== undefined) {
      // Its row is marked, not folded, and one click away.
      await page.locator("dd").getByRole("link", { name: fault, exact: true }).click();
      const row = page.locator(".row.bad:target");
      expect(await row.locator(".at").innerText()).toBe(fault.replace("message ", ""));
      await expect
        .poll(() => row.boundingBox())
        .toMatchObject({ y: expect.toSatisfy((y) => y > 0 && y < 720) });
      expect(await page.locator(".row.bad").count()).toBe(1);
    }
    await page.context().close();
  });

  it("is printed with the id of the thread and with its findings", async () => {
    const page = await open({ viewport: FIRST_SCREEN }, "an orphan result");
    const [finding, id] = [page.locator(".findings code").first(), page.locator("p.pages .mono")];
    expect([await finding.isVisible(), await id.innerText()]).toEqual([false, "an orphan result"]);
    await page.emulateMedia({ media: "print" });
    expect([await finding.isVisible(), await id.isVisible()]).toEqual([true, true]);
    await page.context().close();
  });

  it.each([
    [{ viewport: { width: 360, height: 740 } }],
    [{ viewport: { width: 768, height: 1024 } }],
    [{ viewport: FIRST_SCREEN, colorScheme: "dark" }],
    [{ viewport: { width: 1920, height: 1080 } }],
    [{ viewport: FIRST_SCREEN, forcedColors: "active" }],
  ] as const)("is without faults for people who see or type differently: %j", async (options) => {
    const page = await open(options);
    for (const thread of [undefined, ...Object.keys(ANSWERS)]) {
      await page.goto(addressOf(thread));
      await page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true");
      expect([thread, await accessibilityFaults(page)]).toEqual([thread, []]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), thread).toBe(0);
    }
    await page.context().close();
  });
});
