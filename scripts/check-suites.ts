/**
 * Runs the tests of LangChain, deepagents and LangGraph with this library: `npm run check:suites -- FOLDER …`.
 *
 * Each folder is a checkout of the repository `langchain-ai/langchainjs`, `langchain-ai/deepagentsjs` or
 * `langchain-ai/langgraphjs`. Nothing is downloaded: the tests run in a temporary folder, with the packages that are
 * installed here.
 *
 * The tests of agents run as they are, with an empty middleware of the same hooks in each agent, and with
 * `tetherMiddleware()`, last and first. A test that fails only with our code needs a reason in `suites/explained.ts`.
 * If one has none, the command ends with 1.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { addToList } from "../src/shared/values.js";
import { DEEPAGENTS, LANGCHAIN } from "./suites/agents.js";
import { reasonFor } from "./suites/explained.js";
import { LANGGRAPH } from "./suites/reducers.js";
import { type Outcome, runSuite, type Suite } from "./suites/run-suite.js";

const SUITES = [LANGCHAIN, DEEPAGENTS, LANGGRAPH];

async function suiteIn(checkout: string): Promise<Suite> {
  for (const suite of SUITES) {
    const has = access(join(checkout, suite.project)).then(
      () => true,
      () => false,
    );
    if (await has) return suite;
  }
  const folders = SUITES.map(({ project }) => project).join(", ");
  throw new Error(`Expected a checkout with one of ${folders}, got ${checkout}.`);
}

const countsOf = ({ passed, failed }: Outcome): string => `${failed.size} of ${passed + failed.size}`;

/** Prints how many tests fail in each way, and why some fail only with our code. Returns how many have no reason. */
async function check(checkout: string): Promise<number> {
  const suite = await suiteIn(checkout);
  const { alone, compared } = await runSuite(suite, checkout);
  console.log(`\n${suite.name}: ${countsOf(alone)} tests fail as they are.\n`);
  console.log("| place | without ours | with ours |\n| --- | --- | --- |");
  for (const { title, without, ours } of compared)
    console.log(`| ${title} | ${countsOf(without)} | ${countsOf(ours)} |`);
  const places = new Map<string, string[]>();
  for (const { title, without, ours } of compared)
    for (const test of ours.failed)
      if (!without.failed.has(test) && !alone.failed.has(test)) addToList(places, test, title);
  const byReason = new Map<string, string[]>();
  for (const test of places.keys()) addToList(byReason, reasonFor(test) ?? "", test);
  for (const [reason, tests] of byReason) {
    console.log(`\n${reason === "" ? "WITHOUT A REASON" : reason}`);
    for (const test of tests) console.log(`  ${test} (${places.get(test)?.join(", ")})`);
  }
  return byReason.get("")?.length ?? 0;
}

const checkouts = process.argv.slice(2);
if (checkouts.length === 0)
  console.log("Give the path of a checkout of langchainjs, deepagentsjs or langgraphjs.");
for (const checkout of checkouts) if ((await check(checkout)) > 0) process.exitCode = 1;
