/** The demo from its first scene to its last line, and the server that it needs. */

import { type DevServer, startDevServer } from "../dev-server.js";
import { Conversation } from "./conversation.js";
import { NEXT_STEPS } from "./next-steps.js";
import type { Page } from "./page.js";
import { playPlainAgent } from "./plain-agent.js";
import { playScenes } from "./scenes.js";
import { HANGING_CITY, startWeatherStandIn } from "./weather-stand-in.js";

/** @param interrupted Rejects when the demo must end. */
export async function playDemo(page: Page, interrupted: Promise<never>): Promise<void> {
  const startedAt = performance.now();
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(0);
  const weather = await startWeatherStandIn();
  try {
    page.paragraph(
      "Both agents have the same tools and the offline model, a set of rules that rejects a bad thread as a strict " +
        `provider does. This script plays the weather service, which never responds for ${HANGING_CITY}.`,
    );
    // If this process ends while the server starts, the server ends too.
    const { server: starting, tell } = startServer(weather.url);
    await Promise.race([playPlainAgent({ page, weather }), interrupted]);
    page.line();
    page.line(
      "The server of the other agent, `langgraphjs dev`, starts meanwhile. It takes ten seconds or more:",
    );
    tell((stage) => page.line(page.style("dim", `  ${seconds().padStart(2)} s  ${stage}`)));
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
  page.line();
  page.line(page.style("green", `All checks passed, in ${seconds()} s. The server is stopped.`));
  page.heading("What next");
  for (const [wish, way] of NEXT_STEPS) page.line(`${wish.padEnd(27)}${way}`);
}

/** What the server prints when it begins a part of its start. */
const STAGES = [
  ["", "its tool starts"],
  ["Welcome to", "it loads LangGraph's server"],
  ["Starting server", "it opens its storage"],
  ["Registering graphs", "it loads the agent"],
  ["Loading HTTP app", "it loads its routes"],
  ["Server running", "it runs"],
] as const;

interface StartingServer {
  readonly server: Promise<DevServer>;
  /** Tells the stage that the server has reached, and each later one. Contract of `say`: must not throw. */
  readonly tell: (say: (stage: string) => void) => void;
}

/** @param weatherUrl The service that its tool asks. */
function startServer(weatherUrl: string): StartingServer {
  let reached = 0;
  let say = (_: string): void => {};
  const server = startDevServer({
    env: {
      MODEL: "offline:",
      OPEN_METEO_GEOCODING_URL: weatherUrl,
      OPEN_METEO_FORECAST_URL: weatherUrl,
    },
    onOutput: (output) => {
      for (const [index, [words, stage]] of STAGES.entries()) {
        if (index <= reached || !output.includes(words)) continue;
        reached = index;
        say(stage);
      }
    },
  });
  server.catch(() => {});
  const tell = (listener: typeof say): void => {
    say = listener;
    say(STAGES[reached]?.[1] ?? "");
  };
  return { server, tell };
}
