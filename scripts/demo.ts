/**
 * Shows in four scenes a thread that breaks and one that does not: `npm run demo`. It runs a plain agent in this
 * process, starts the development server on this repository's `langgraph.json`, talks to it through the SDK, and ends
 * by itself. Nothing leaves the machine.
 */

import { CheckError } from "./demo/check-pairs.js";
import { Conversation } from "./demo/conversation.js";
import { NEXT_STEPS } from "./demo/next-steps.js";
import { createPage, type Page } from "./demo/page.js";
import { playPlainAgent } from "./demo/plain-agent.js";
import { playScenes } from "./demo/scenes.js";
import { HANGING_CITY, startWeatherStandIn } from "./demo/weather-stand-in.js";
import { startDevServer } from "./dev-server.js";
import { findSettingError } from "./terminal/find-setting-error.js";

/** The user, or the parent process, wants the demo to end. */
class InterruptedError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("Stopped before the end.");
    this.exitCode = exitCode;
  }
}

const interrupted = new Promise<never>((_, reject) => {
  process.once("SIGINT", () => reject(new InterruptedError(130)));
  process.once("SIGTERM", () => reject(new InterruptedError(143)));
});

async function playDemo(page: Page): Promise<void> {
  const startedAt = performance.now();
  const weather = await startWeatherStandIn();
  try {
    page.line(page.style("bold", "langgraph-tether: a thread whose calls stay paired with their results"));
    page.line();
    const env = {
      MODEL: "offline:",
      OPEN_METEO_GEOCODING_URL: weather.url,
      OPEN_METEO_FORECAST_URL: weather.url,
    };
    page.paragraph(
      "Both agents have the same tools and the offline model, a set of rules that rejects a bad thread as a strict " +
        `provider does. This script plays the weather service, which never responds for ${HANGING_CITY}.`,
    );
    // If this process ends while the server starts, the server ends too.
    const starting = startDevServer({ env });
    starting.catch(() => {});
    await Promise.race([playPlainAgent({ page, weather }), interrupted]);
    const server = await Promise.race([starting, interrupted]);
    try {
      const conversation = await Conversation.start(server.client, page);
      await Promise.race([playScenes({ conversation, page, weather }), interrupted]);
    } finally {
      await server.stop();
    }
  } finally {
    await weather.close();
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  page.line();
  page.line(page.style("green", `All checks passed, in ${seconds} s. The server is stopped.`));
  page.heading("What next");
  for (const [wish, way] of NEXT_STEPS) page.line(`${wish.padEnd(27)}${way}`);
}

try {
  await playDemo(createPage(process.stdout));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const words = findSettingError(message) ?? message;
  process.stderr.write(`\n${error instanceof CheckError ? `✗ check failed: ${words}` : words}\n`);
  // Exit, and do not only set the code: an abandoned scene may still wait for something.
  process.exit(error instanceof InterruptedError ? error.exitCode : 1);
}
