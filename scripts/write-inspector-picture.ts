/**
 * Cancels a run of a real agent, and takes pictures of the page of its thread for the README, light and dark:
 * `npx tsx scripts/write-inspector-picture.ts`. It needs Chromium, which the variable `CHROMIUM` can name.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemorySaver } from "@langchain/langgraph";
import { tool } from "langchain";
import { chromium } from "playwright-core";
import { z } from "zod";
import { createServedModel } from "../server/offline/create-model.js";
import { createCalculatorTool } from "../server/tools/calculator.js";
import { createGraphStore } from "../src/doctor.js";
import { createAgentGraph } from "../src/index.js";
import { serveInspector } from "../src/inspector/serve.js";

const PICTURES = fileURLToPath(new URL("../docs/pictures/", import.meta.url));
const cancelling = new AbortController();

/** Never knows Reykjavik. */
const weather = tool(
  async ({ city }: { city: string }) => {
    if (city !== "Rome") await new Promise(() => {});
    return JSON.stringify({ city, sky: "clear", temperature: 24 });
  },
  { name: "weather", description: "The weather at a place.", schema: z.object({ city: z.string() }) },
);

const graph = createAgentGraph({
  model: await createServedModel("offline:"),
  tools: [createCalculatorTool(), weather],
  checkpointer: new MemorySaver(),
});
const config = { configurable: { thread_id: "1" } };
const ask = (content: string, options = {}) =>
  graph.invoke({ messages: [{ role: "user", content }] }, { ...config, ...options });

const run = ask("What is 6*7, and what is the weather in Reykjavik?", { signal: cancelling.signal });
run.catch(() => {});
while (!JSON.stringify((await graph.getState(config)).tasks).includes('"42"'))
  await new Promise((resolve) => setTimeout(resolve, 10));
cancelling.abort();
await run.catch(() => {});

const { address, close } = await serveInspector(createGraphStore({ graph }));
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
const context = await browser.newContext({ deviceScaleFactor: 1.5 });
const page = await context.newPage();
await page.goto(address);
const VIEWPORTS = { inspector: { width: 1280, height: 800 }, "inspector-phone": { width: 390, height: 600 } };
for (const [name, viewport] of Object.entries(VIEWPORTS))
  for (const colorScheme of ["light", "dark"] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.goto(new URL("/tether/threads/1?dialect=openai", address).href);
    await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`) });
  }
await browser.close();
await close();
console.log(`Wrote the pictures of the inspector to ${PICTURES}.`);
process.exit();
