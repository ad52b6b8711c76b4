/**
 * Checks the package as its users get it: `npm run check:package`. It packs the library, installs the tarball into an
 * empty project with the README's commands, and tries every entry. It ends with code 1 at the first entry that does not
 * work.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BrokenDoorError } from "./check-package/broken-door-error.js";
import { bundleHistory, bundleRoot } from "./check-package/bundles.js";
import { checkCommand } from "./check-package/check-command.js";
import { checkBoth, checkJest, checkNest } from "./check-package/check-commonjs.js";
import { checkDoctor } from "./check-package/check-doctor.js";
import { checkDocuments } from "./check-package/check-documents.js";
import { checkInspector } from "./check-package/check-inspector.js";
import { checkLangChain, checkWithoutLangChain } from "./check-package/check-langchain.js";
import { checkMissingPackages } from "./check-package/check-missing-packages.js";
import { checkPackedFiles } from "./check-package/check-packed-files.js";
import { checkTypes } from "./check-package/check-types.js";
import { installConsumer } from "./check-package/install-consumer.js";
import { packLibrary } from "./check-package/pack-library.js";
import { readReadme } from "./check-package/read-readme.js";
import {
  checkHistoryAlone,
  checkOldestZod,
  requireExample,
  runExample,
  runHistory,
} from "./check-package/run-example.js";
import { createSizes, formatBytes } from "./check-package/sizes.js";
import { checkPublish, checkWithAttw, checkWithPublint } from "./check-package/tools.js";

async function checkPackage(folder: string): Promise<void> {
  const sizes = createSizes();
  const readme = await readReadme();
  // The README's commands find the packed library in the folder of the clone, beside that of the project.
  const library = await packLibrary(join(folder, "langgraph-tether"));
  await open("the packed files", () => checkPackedFiles(library.files));
  await open("publint", () => checkWithPublint(library.tarball));
  await open("attw", () => checkWithAttw(library.tarball));
  await open("npm publish --dry-run", () => checkPublish(library.tarball));

  await open("langgraph-tether/history alone", () =>
    checkHistoryAlone(join(folder, "alone"), library.tarball),
  );
  const consumer = await installConsumer(join(folder, "consumer"), readme.install);
  report(readme.install.join(" && "), `${consumer.installed} packages`);
  await open("the README's first example", () => runExample(consumer, readme));
  await open("the README's first example, required", () => requireExample(consumer, readme));
  await open("langgraph-tether/history, imported", () => runHistory(consumer, "esm"));
  await open("langgraph-tether/history, required", () => runHistory(consumer, "cjs"));
  await open("models without their package", () => checkMissingPackages(consumer));
  await open("types", () => checkTypes(consumer, readme));
  await open("langgraph-tether, bundled", () => bundleRoot(consumer, readme, sizes));
  await open("langgraph-tether/history, bundled", () => bundleHistory(consumer, sizes));
  await open("langgraph-tether/doctor", () => checkDoctor(consumer));
  await open("langgraph-tether/inspector", () => checkInspector(consumer));
  await open("the program langgraph-tether", () => checkCommand(consumer));
  await open("langgraph-tether/langchain without langchain", () => checkWithoutLangChain(consumer));
  await open("langgraph-tether/langchain", () => checkLangChain(consumer));
  await open("imported and required in one program", () => checkBoth(consumer));
  await open("an application of NestJS", () => checkNest(consumer));
  await open("tests of Jest", () => checkJest(consumer));
  await open("the documents", () => checkDocuments(consumer));
  await open("with the oldest zod", () => checkOldestZod(consumer, readme));

  sizes.print();
  console.log(
    `\nThe package: ${formatBytes(library.packedBytes)} packed, ${formatBytes(library.unpackedBytes)} unpacked.`,
  );
}

async function open(door: string, check: () => Promise<string>): Promise<void> {
  try {
    report(door, await check());
  } catch (error) {
    throw error instanceof BrokenDoorError ? new BrokenDoorError(`${door}: ${error.message}`) : error;
  }
}

function report(door: string, found: string): void {
  console.log(`ok  ${door}: ${found}`);
}

const folder = await mkdtemp(join(tmpdir(), "tether-package-"));
try {
  await checkPackage(folder);
} catch (error) {
  if (!(error instanceof BrokenDoorError)) throw error;
  console.error(`\nBROKEN  ${error.message}`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true });
}
