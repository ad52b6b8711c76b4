import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { importOptional } from "../../providers/models/import-optional.js";
import { isRecord } from "../../shared/is-record.js";
import { parseJson } from "../../shared/parse-json.js";
import { UsageError } from "./usage-error.js";

/**
 * Imports a package of the operator's project, and otherwise one that is installed beside this library, which can be
 * in a folder of npx.
 *
 * @param path The entry of the package, such as `./esm/api`.
 * @throws UsageError with the install command, if the package is in neither place.
 */
export async function importPackage<Module>(
  name: string,
  { folder, why, path = "." }: { readonly folder: string; readonly why: string; readonly path?: string },
): Promise<Module> {
  const specifier = path === "." ? name : `${name}${path.slice(1)}`;
  const address = await findPackage(name, path, folder);
  try {
    const loading = importOptional<object>(address ?? specifier);
    return (await loading) as Module;
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    throw new UsageError(
      `${why} needs the package ${name}, which is not installed. Install it: npm install ${name}`,
    );
  }
}

/** Whether Node did not find this package, and not another one that it imports. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = Object(error);
  return (
    (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") &&
    [`'${name}'`, `'${name}/`].some((quoted) => String(message).includes(quoted))
  );
}

/** The file that `import` loads in this folder. Node has no function for it: `require.resolve` gives another file. */
async function findPackage(name: string, path: string, folder: string): Promise<string | undefined> {
  for (const place of createRequire(join(folder, "package.json")).resolve.paths(name) ?? []) {
    const manifest = parseJson(await readFile(join(place, name, "package.json"), "utf8").catch(() => ""));
    if (!isRecord(manifest)) continue;
    const file = importedFile(isRecord(manifest["exports"]) ? manifest["exports"][path] : undefined);
    if (file !== undefined) return pathToFileURL(join(place, name, file)).href;
  }
  return undefined;
}

function importedFile(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry;
  if (!isRecord(entry)) return undefined;
  for (const condition of ["node", "import", "default"]) {
    const found = importedFile(entry[condition]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A dependency of a package, as the package itself requires it. Throws Node's error if it is missing. */
export function requireDependency(name: string, dependency: string, folder: string): unknown {
  let missing: unknown;
  for (const base of [join(folder, "package.json"), import.meta.url]) {
    try {
      return createRequire(createRequire(base).resolve(name))(dependency);
    } catch (error) {
      missing = error;
    }
  }
  throw missing;
}
