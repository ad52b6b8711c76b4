/** Loads the graph that the threads belong to, as the LangGraph server does. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import util from "node:util";
import { importOptional } from "../../shared/import-optional.js";
import { parseJson } from "../../shared/json.js";
import { didYouMean } from "../../shared/text.js";
import { isRecord } from "../../shared/values.js";
import { compiledGraphOf, type ForeignGraph } from "../../threads/langgraph/swap-channel.js";
import { importPackage, type OpenContext, reasonOf, UsageError } from "./target.js";

const CONFIG = "langgraph.json";
const ADVICE = "Name your graph: --graph ./src/agent.ts:graph";

/** Whether somebody names a graph: an option, or a langgraph.json in the folder. */
export function isGraphNamed(spec: string | undefined, folder: string): boolean {
  return spec !== undefined || existsSync(resolve(folder, CONFIG));
}

type Context = Pick<OpenContext, "folder" | "environment">;

/**
 * @param spec `FILE:EXPORT`, or a name in langgraph.json. Undefined: the only graph of langgraph.json.
 * @throws UsageError if there is no such graph, or if it cannot be loaded.
 */
export async function loadGraph(spec: string | undefined, context: Context): Promise<ForeignGraph> {
  const { folder } = context;
  const place = spec?.includes(":") ? { spec, folder } : await findInConfig(spec, context);
  const at = place.spec.lastIndexOf(":");
  const [file, name] = [place.spec.slice(0, at), place.spec.slice(at + 1) || "default"];
  const path = resolve(place.folder, file);
  if (!existsSync(path)) throw new UsageError(`There is no file ${file} for the graph ${place.spec}.`);
  const module = await importGraphFile(path, file, folder);
  const exported = module[name];
  if (exported === undefined)
    throw new UsageError(
      `The file ${file} exports no \`${name}\`. It exports ${Object.keys(module).join(", ") || "nothing"}.${didYouMean(name, Object.keys(module))}`,
    );
  let made: unknown;
  try {
    made = typeof exported === "function" ? await exported({ configurable: {} }) : await exported;
    if (typeof Object(made).compile === "function") made = Object(made).compile();
  } catch (error) {
    throw new UsageError(`The graph ${place.spec} cannot be made: ${reasonOf(error)}`);
  }
  const graph = compiledGraphOf(made);
  if (graph !== undefined) return graph;
  throw new UsageError(
    `Expected \`${name}\` of ${file} to be a graph, or a function that returns one. ${ADVICE}`,
  );
}

async function findInConfig(
  wanted: string | undefined,
  { folder, environment }: Context,
): Promise<{ readonly spec: string; readonly folder: string }> {
  const path = resolve(folder, CONFIG);
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined)
    throw new UsageError(
      wanted === undefined
        ? `A database is repaired through your graph, and there is no ${CONFIG} in this folder. ${ADVICE}`
        : `There is no ${CONFIG} in this folder, which would name the graph ${wanted}. ${ADVICE}`,
    );
  const config = parseJson(text);
  const graphs = isRecord(config) && isRecord(config["graphs"]) ? config["graphs"] : {};
  const names = Object.keys(graphs);
  const [first] = names;
  if (!isRecord(config) || first === undefined) throw new UsageError(`${CONFIG} names no graphs. ${ADVICE}`);
  if (wanted === undefined && names.length > 1)
    throw new UsageError(
      `${CONFIG} has several graphs: ${names.join(", ")}. Choose one with --graph, such as --graph ${first}.`,
    );
  const name = wanted ?? first;
  const entry = graphs[name];
  const spec = isRecord(entry) ? entry["path"] : entry;
  if (typeof spec !== "string")
    throw new UsageError(
      `${CONFIG} has no graph \`${name}\`. It has ${names.join(", ")}.${didYouMean(name, names)}`,
    );
  const place = { spec, folder: dirname(path) };
  await addVariables(config["env"], { ...place, environment });
  return place;
}

/** None is replaced. */
async function addVariables(env: unknown, { folder, environment }: Context): Promise<void> {
  const file = typeof env === "string" ? await readFile(resolve(folder, env), "utf8").catch(() => "") : "";
  const values = isRecord(env) && !Array.isArray(env) ? env : util.parseEnv(file);
  for (const [name, value] of Object.entries(values))
    if (environment[name] === undefined && typeof value === "string") environment[name] = value;
}

async function importGraphFile(path: string, file: string, folder: string): Promise<Record<string, unknown>> {
  const isTypeScript = /\.[cm]?tsx?$/.test(path);
  // Newer versions of Node can load simple files without it.
  const missing = isTypeScript ? await registerTsx(folder).catch((error) => ` ${reasonOf(error)}`) : "";
  try {
    const loading = importOptional<Record<string, unknown>>(pathToFileURL(path).href);
    return { ...(await loading) };
  } catch (error) {
    throw new UsageError(`The graph file ${file} cannot be loaded: ${reasonOf(error)}${missing}`);
  }
}

async function registerTsx(folder: string): Promise<string> {
  const wanted = { folder, why: "Loading a graph in TypeScript", path: "./esm/api" };
  (await importPackage<{ register: () => unknown }>("tsx", wanted)).register();
  return "";
}
