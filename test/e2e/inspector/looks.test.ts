/**
 * Real threads on the pages of the inspector, as people see them: light and dark, on a phone, by keyboard. Slow:
 * `SLOW_TESTS=1`. `PICTURES=FOLDER` keeps a picture of each page.
 */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityFaults, BROWSER, NEEDS_BROWSER, openBrowser } from "../../support/open-browser.js";
import { user } from "../../support/thread.js";
import { serve, type Thread, until } from "../served.js";

const served = serve();
const IS_SLOW = process.env["SLOW_TESTS"] === "1";
const PICTURES = process.env["PICTURES"];

/** A thread in which a run was cancelled, the provider was switched, and the beginning was summarised. */
async function troubledThread(): Promise<{ readonly thread: Thread; readonly beforeSummary: string }> {
  const thread = await served.thread("agent");
  const before = served.cities.length;
  await thread.send("what is 20+22?", { context: { systemPrompt: "Say the unit of each number." } });
  const run = await thread.begin("What is the weather in Slowville, and what is 6*7?");
  await until(() => served.cities.slice(before).includes("Slowville"));
  await delay(300);
  await thread.client.runs.cancel(thread.id, run, true);
  await thread.send("hello, are you there?");
  const call = { id: "toolu_01", name: "calculator", args: { input: "6*7" } };
  const messages = [
    { type: "human", content: "Compare the two results." },
    {
      type: "ai",
      content: [
        { type: "thinking", thinking: "There is only one result.", signature: "signed" },
        { type: "text", text: "I calculate it again." },
        { type: "tool_use", id: call.id, name: call.name, input: call.args },
      ],
      tool_calls: [{ ...call, type: "tool_call" }],
      response_metadata: { model_provider: "anthropic", model_name: "claude-sonnet-4-5" },
    },
    { type: "tool", tool_call_id: call.id, name: call.name, content: "42" },
    {
      type: "ai",
      content: "It is 42 again.",
      response_metadata: { model_provider: "openai", model_name: "gpt-4o-mini" },
    },
  ];
  await thread.update(...messages);
  const { checkpoint } = await thread.client.threads.getState(thread.id);
  const context = { maxMessagesBeforeSummary: 10, messagesToKeep: 6 };
  await thread.send("what is 3*9?", { context });
  return { thread, beforeSummary: checkpoint.checkpoint_id ?? "" };
}

describe.skipIf(!IS_SLOW || BROWSER === undefined)(`how the pages look${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  let pages: readonly (readonly [name: string, path: string])[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
    const { thread, beforeSummary } = await troubledThread();
    const path = `/tether/threads/${thread.id}`;
    const broken = await served.thread("unpaired");
    await broken.send("Is it warm in Rome?");
    const tool_calls = [{ id: "c1", name: "weather", args: { city: "Rome" }, type: "tool_call" }];
    const messages = [
      { type: "ai", id: "a", content: "", tool_calls },
      { type: "human", id: "b", content: "Are you there? ".repeat(120) },
      { type: "tool", id: "t", tool_call_id: "c1", name: "weather", content: "18 °C" },
    ];
    await broken.update(...messages);
    pages = [
      ["threads", "/tether"],
      ["summary", path],
      ["switch", `${path}?step=${beforeSummary}&dialect=mistral`],
      ["limit", `${path}?step=${beforeSummary}&maxTokens=120`],
      ["broken", `/tether/threads/${broken.id}?dialect=anthropic`],
      ["missing", "/tether/threads/none"],
    ];
  });
  afterAll(() => browser?.close());

  it.each([
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
    ["dark", 390],
  ] as const)("is without faults: %s, %d pixels wide", async (colorScheme, width) => {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
    const page = await context.newPage();
    for (const [name, path] of pages) {
      await page.goto(`${served.url}${path}`);
      const picture = join(PICTURES ?? "", `${name}-${colorScheme}-${width}.png`);
      if (PICTURES !== undefined) await page.screenshot({ path: picture, fullPage: true });
      expect([name, await accessibilityFaults(page)]).toEqual([name, []]);
      expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), name).toBe(false);
    }
    await context.close();
  });

  it("names what happened: recovered, placeholder, covered, summary, and each model's own state", async () => {
    const page = await browser.newPage();
    const textOf = async (wanted: string) => {
      await page.goto(`${served.url}${pages.find(([name]) => name === wanted)?.[1]}`);
      await page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true");
      return await page.locator("main").innerText();
    };
    const wanted = {
      summary: [
        ...["recovered", "placeholder: superseded", "covered", "summary of 10 messages"],
        "These fields are sent in another form, or not at all: content, tool_calls.",
      ],
      switch: ["call id", "bridge", "anthropic · claude-sonnet-4-5", "openai · gpt-4o-mini"],
      limit: ["left out", "too long", "gap note"],
      broken: ["pairing/misplaced-result", "misplaced result"],
      threads: ["recovered"],
    };
    for (const [name, all] of Object.entries(wanted)) {
      const text = await textOf(name);
      for (const words of all) expect(text).toContain(words);
    }
    expect(await textOf("summary")).toContain("The next request has");
    await page.close();
  });

  it("can be used by keyboard alone: skip, choose a dialect, show", async () => {
    const page = await browser.newPage();
    await page.goto(`${served.url}${pages.find(([name]) => name === "summary")?.[1]}`);
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    const reach = async (text: string) => {
      while (!(await page.evaluate<string>("document.activeElement.textContent")).startsWith(text))
        await page.keyboard.press("Tab");
    };
    await reach("Request and provider");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.name")).toBe("dialect");
    await page.keyboard.type("mistral");
    await reach("Show");
    await page.keyboard.press("Enter");
    await page.waitForURL(/dialect=mistral/);
    expect(await page.locator("select[name=dialect]").inputValue()).toBe("mistral");
    await page.close();
  });

  it("walks back through all steps of a thread", async () => {
    const thread = await served.thread("agent");
    for (let turn = 0; turn < 12; turn += 1) await thread.send(`what is ${turn}+1`);
    const page = await browser.newPage();
    await page.goto(`${served.url}/tether/threads/${thread.id}`);
    const steps = page.locator(".rail li");
    const counts = [await steps.count()];
    for (let link = page.getByText("Earlier steps"); (await link.count()) > 0; ) {
      await link.click();
      counts.push(await steps.count());
    }
    expect(Math.max(...counts)).toBe(60);
    expect(await steps.last().innerText()).toContain("0 messages");
    await page.close();
  });

  it("opens a thread of 10,000 messages, one page at a time", async () => {
    const thread = await served.thread("unpaired");
    await thread.invoke(user("begin").messages);
    const calls = (turn: number) => ({
      tool_calls: [{ id: `c${turn}`, name: "add", args: { turn }, type: "tool_call" }],
    });
    const messages = Array.from({ length: 2_500 }, (_, turn) => [
      { type: "human", id: `h${turn}`, content: `Question ${turn}` },
      { ...calls(turn), type: "ai", id: `a${turn}`, content: "" },
      { type: "tool", id: `t${turn}`, tool_call_id: `c${turn}`, name: "add", content: "x".repeat(300) },
      { type: "ai", id: `b${turn}`, content: `Answer ${turn}` },
    ]).flat();
    await thread.update(...messages);
    const page = await browser.newPage();
    const response = await page.goto(`${served.url}/tether/threads/${thread.id}?dialect=openai`, {
      timeout: 150_000,
    });
    expect((await response?.body())?.length).toBeLessThan(250_000);
    expect(await page.locator(".row").count()).toBe(100);
    await page.getByText("Earlier", { exact: true }).first().click({ timeout: 150_000 });
    await page.waitForURL(/page=100/, { timeout: 150_000 });
    expect(await page.locator(".row").count()).toBe(100);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.close();
  });
});
