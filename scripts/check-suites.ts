/**
 * Runs the tests of LangGraph and of LangChain with this library: `npm run peers -- FOLDER …`.
 *
 * Each folder is a checkout of the repository `langchain-ai/langgraphjs` or `langchain-ai/langchainjs`. Without
 * arguments, they are those that the environment variables `LANGGRAPHJS` and `LANGCHAINJS` name. Without any, nothing is
 * run.
 *
 * The tests run in a temporary folder, with the packages that are installed here: as they are, and with our code. A test
 * that fails only with our code must be listed with the rule that forbids what it demands. If another one fails, or if
 * a listed one passes, it ends with 1.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { compareAgents, LANGCHAIN } from "./peers/langchain.js";
import { compareReducers, LANGGRAPH } from "./peers/langgraph.js";

async function compare(checkout: string): Promise<boolean> {
  const has = (path: string) =>
    access(join(checkout, path)).then(
      () => true,
      () => false,
    );
  if (await has(LANGGRAPH)) return compareReducers(checkout);
  if (await has(LANGCHAIN)) return compareAgents(checkout);
  throw new Error(`Expected a checkout with ${LANGGRAPH} or ${LANGCHAIN}, got ${checkout}.`);
}

const given = process.argv.slice(2);
const named = [process.env["LANGGRAPHJS"], process.env["LANGCHAINJS"]].filter((path) => path !== undefined);
const checkouts = given.length > 0 ? given : named;
if (checkouts.length === 0) {
  console.log("Skipped: give the path of a checkout of langgraphjs or langchainjs.");
}
for (const checkout of checkouts) {
  if (!(await compare(checkout))) process.exitCode = 1;
}
