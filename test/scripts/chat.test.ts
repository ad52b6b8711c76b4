import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChatOptions, readChatOptions, UsageError } from "../../scripts/chat/options.js";
import { startWeatherStandIn, type WeatherStandIn } from "../../scripts/demo/weather-stand-in.js";
import { serve, until } from "../e2e/served.js";
import { type RunningScript, runScript } from "./run-script.js";

const scripts: RunningScript[] = [];
const server = serve();
let weather: WeatherStandIn;
let env: Record<string, string>;

beforeAll(async () => {
  weather = await startWeatherStandIn();
  env = {
    MODEL: "offline:",
    REQUIRE_APPROVAL: "save_note",
    OPEN_METEO_GEOCODING_URL: weather.url,
    OPEN_METEO_FORECAST_URL: weather.url,
  };
});

afterAll(async () => {
  for (const { child } of scripts) child.kill("SIGKILL");
  await weather?.close();
});

function chat(...args: string[]): RunningScript {
  const script = runScript("chat.ts", args, env);
  scripts.push(script);
  return script;
}

describe.concurrent("npm run chat", () => {
  it("starts its own server, handles the lines of a pipe one after the other, and leaves no process", async () => {
    const notes = ["one", "two", "three", "four"];
    // The environment of its own server says that notes need approval.
    const script = chat();
    script.child.stdin.end(
      [
        "what is 3*4 and 5+5\n\nweather in Atlantis",
        notes.map((text) => `call save_note {"text": "${text}"}`).join(" and "),
        "/edit two",
        "/respond",
        "/approve",
        '/edit {"text": ""}',
        '/edit {"text": "2"}',
        "/reject not this one",
        "/respond is there already",
        "/approve",
        "/quit\nwhat is 1+1\n",
      ].join("\n"),
    );
    expect(await script.ended).toBe(0);
    expect(script.errors()).toBe("");
    const waits = (text: string, more: string) => [
      `  ? save_note(text: "${text}") waits for your approval${more}`,
      "  ? /approve, /reject, /edit or /respond; /help explains them",
    ];
    expect(script.output().split("\n")).toEqual([
      '  → calculator(input: "3*4")',
      '  → calculator(input: "5+5")',
      "  ← calculator: 12",
      "  ← calculator: 10",
      "Here is what the tools returned:",
      "- 3*4 = 12",
      "- 5+5 = 10",
      '  → weather(city: "Atlantis")',
      expect.stringMatching(/^ {2}✗ weather: .*no city named "Atlantis"/),
      expect.stringMatching(/^Error: .*no city named "Atlantis"/),
      ...notes.map((text) => `  → save_note(text: "${text}")`),
      ...waits("one", ", and 3 more"),
      "/edit needs the arguments as a JSON object.",
      "/respond needs a text: the result of the call.",
      "  ← save_note: Saved the note: one",
      ...waits("two", ", and 2 more"),
      expect.stringMatching(/^ {2}\? `decisions\.0\.edited_action\.args\.text`: /),
      ...waits("two", ", and 2 more"),
      '  → save_note(text: "2")',
      "  ← save_note: Saved the note: 2",
      ...waits("three", ", and 1 more"),
      "  ✗ save_note: Error: `save_note` was not approved, so it was not run. Reason: not this one",
      ...waits("four", ""),
      "  ← save_note: is there already",
      "Here is what the tools returned:",
      "- Saved the note: one",
      "- Saved the note: 2",
      "- Error: `save_note` was not approved, so it was not run. Reason: not this one",
      "- is there already",
      "No tool call waits for your approval.",
      "",
    ]);
    expect(await script.findProcesses()).toEqual([]);
  });

  it("continues a thread, shows it, and begins a new one", async () => {
    const thread = await server.thread("agent");
    await thread.send("what is 6*7");
    const script = chat("--url", server.url, "--thread", thread.id);
    script.child.stdin.end("/history all\n/new one\n/new\n/history\n/what now\n/quit it\n/help\n");
    expect(await script.ended).toBe(0);
    expect(script.output()).toMatch(
      /^ {2}1 {2}human {2}what is 6\*7\n {2}2 {2}ai {5}→ calculator\(input: "6\*7"\)\n {2}3 {2}tool {5}calculator: 42 +ok\n {2}4 {2}ai {5}6\*7 = 42\n\/new takes no text\. .*\nThread [\w-]+\nThe thread is empty\.\nThere is no command \/what\. .*\n$/,
    );
  });

  it("cancels a run on Ctrl-C and continues; a second Ctrl-C ends the chat", async () => {
    const script = chat("--url", server.url);
    script.child.stdin.write("what is 6*7 and the weather in Slowborough\n");
    await until(() => server.cities.includes("Slowborough"));
    await script.hasPrinted("← calculator: 42");
    script.child.kill("SIGINT");
    await script.hasPrinted("✗ cancelled");

    script.child.stdin.write("what is 5+5\n/help\n");
    await script.hasPrinted("/quit");
    const [, afterwards = ""] = script.output().split("✗ cancelled\n");
    expect(afterwards.split("\n").slice(0, 5)).toEqual([
      "  · calculator: its result was recovered from the earlier run",
      "  · weather: closed without a result, because a new message came before it finished",
      '  → calculator(input: "5+5")',
      "  ← calculator: 10",
      "5+5 = 10",
    ]);
    script.child.kill("SIGINT");
    expect(await script.ended).toBe(0);
  });

  const NOWHERE = "http://127.0.0.1:1";
  it.each<[what: string, args: string[], env: Record<string, string>, code: number, says: RegExp]>([
    ["that no server responds", ["--url", NOWHERE], {}, 1, /^No LangGraph server responds at http:\S+\.\n$/],
    [
      "which setting is invalid, in one line",
      [],
      { MCP_SERVERS: fileURLToPath(new URL("../../package.json", import.meta.url)) },
      1,
      /^The file of `MCP_SERVERS` \(\S+package\.json\) cannot be used\. Expected an object with `mcpServers`\.\n$/,
    ],
    [
      "that an option is unknown, with the usage",
      ["--loud"],
      {},
      2,
      /^Unknown option '--loud'\.\n\nUsage: npm run chat/,
    ],
  ])("says %s", async (_what, args, more, code, says) => {
    const script = runScript("chat.ts", args, { ...env, ...more });
    scripts.push(script);
    expect(await script.ended).toBe(code);
    expect(script.errors()).toMatch(says);
    expect(script.output()).toBe("");
  });
});

describe("readChatOptions", () => {
  const url = "http://127.0.0.1:2024";
  it.each<[args: string[], options: ChatOptions]>([
    [[], { kind: "chat", url: undefined, threadId: undefined }],
    [["-h"], { kind: "help" }],
    [["--url", url, "--thread=t1"], { kind: "chat", url, threadId: "t1" }],
  ])("reads %j", (args, options) => {
    expect(readChatOptions(args)).toEqual(options);
  });

  it.each<[args: string[], message: string]>([
    [["hello"], "Unexpected argument 'hello'."],
    [["--url"], "Option '--url <value>' argument missing."],
    [["--url", "here"], "Expected `--url` to be an http(s) URL, got `here`."],
    [
      ["--thread", "t1"],
      "`--thread` needs `--url`: a server that the chat starts itself has no threads yet.",
    ],
  ])("refuses %j", (args, message) => {
    expect(() => readChatOptions(args)).toThrow(new UsageError(message));
  });
});
