import { tmpdir } from "node:os";
import { join } from "node:path";
import { openReceipt, readReceipt } from "langgraph-tether/doctor";

const path = join(tmpdir(), "tether-empty-receipt.jsonl");
const receipt = await openReceipt(path);
await receipt.close();
console.log((await readReceipt(path)).length); // 0
