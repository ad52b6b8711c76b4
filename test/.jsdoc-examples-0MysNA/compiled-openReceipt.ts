import { tmpdir } from "node:os";
import { join } from "node:path";
import { openReceipt } from "langgraph-tether/doctor";

const receipt = await openReceipt(join(tmpdir(), "tether-receipt.jsonl"));
console.log(receipt.path.endsWith(".jsonl")); // true
await receipt.close();
