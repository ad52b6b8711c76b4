import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY, runCommand } from "./run-command.js";

export interface PackedLibrary {
  /** The path of the tarball. */
  readonly tarball: string;
  /** The paths of its files, from the package's root. */
  readonly files: readonly string[];
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

/** Builds and packs the library into a folder, with the README's command. */
export async function packLibrary(folder: string): Promise<PackedLibrary> {
  await mkdir(folder);
  // What the build prints would be in the JSON.
  const args = ["pack", "--json", "--foreground-scripts=false", "--pack-destination", folder];
  const described: unknown = JSON.parse(await runCommand(REPOSITORY, "npm", args));
  const [packed] = described as readonly {
    readonly filename: string;
    readonly size: number;
    readonly unpackedSize: number;
    readonly files: readonly { readonly path: string }[];
  }[];
  if (packed === undefined) throw new Error("npm packed nothing.");
  const tarball = join(folder, packed.filename);
  const { length } = await readFile(tarball);
  return {
    tarball,
    files: packed.files.map(({ path }) => path),
    packedBytes: length,
    unpackedBytes: packed.unpackedSize,
  };
}
