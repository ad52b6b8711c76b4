/** Writes `docs/api.md` from the exports of the package and their JSDoc. */

import { writeFileSync } from "node:fs";
import { API_PAGE, renderApiPage } from "./api-docs/render-api-page.js";

writeFileSync(API_PAGE, renderApiPage());
