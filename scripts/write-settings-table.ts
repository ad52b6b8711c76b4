/** Writes the settings into the documents that list them. */

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SETTINGS_DOCUMENTS, withSettings } from "./write-settings-table/settings-documents.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../..");

for (const document of SETTINGS_DOCUMENTS) {
  const path = resolve(ROOT, document.path);
  writeFileSync(path, withSettings(readFileSync(path, "utf8"), document));
}
