import { expect, it } from "vitest";
import { runScript } from "../scripts/run-script.js";
import { type Respond, startModelServer } from "../support/model-server.js";

const OSLO = { city: "Oslo", celsius: 18, umbrella: false };

/** Calls the tool, then responds wrong once or always, then right. */
function respondWith(wrongs: number): Respond {
  let count = 0;
  return () => {
    count += 1;
    if (count === 1) return { calls: [{ name: "weather", args: { city: "Oslo" } }] };
    const isWrong = count - 1 <= wrongs;
    return { calls: [{ name: "Report", args: isWrong ? { city: "Oslo" } : OSLO }] };
  };
}

async function run(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const { ended, output, errors } = runScript("../examples/structured-output.ts", args, env);
  return { code: await ended, output: output(), errors: errors() };
}

const REPORT = { code: 0, output: "Oslo, 18 °C: no umbrella needed\n", errors: "" };

it("The example of a structured response prints its fields.", async () => {
  expect(await run()).toEqual(REPORT);
});

it.each([
  ["after a wrong one", 1, REPORT],
  [
    "or says that there is none",
    9,
    { ...REPORT, output: "No report: I stopped here: the tools failed several times in a row.\n" },
  ],
] as const)("It does so with a model of a provider, %s.", async (_, wrongs, expected) => {
  const server = await startModelServer(respondWith(wrongs));
  try {
    const env = { MODEL: "openai:test", OPENAI_API_KEY: "x", OPENAI_BASE_URL: server.url };
    expect(await run(["Do I need an umbrella in Oslo?"], env)).toEqual(expected);
    const { messages = [] } = server.requests.at(-1) ?? {};
    expect(messages.filter(({ role }) => role === "tool").length).toBe(server.requests.length - 1);
  } finally {
    await server.stop();
  }
});
