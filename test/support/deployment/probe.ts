import { rmSync } from "node:fs";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { AGENT_NAMES, type AgentName, createDeployedAgent } from "./agents.js";
import { driveLocally } from "./local-driver.js";
import { deploy } from "./deploy.js";
import { refusalsOf } from "./strict-worker.js";
const savers = new Map<AgentName, SqliteSaver>();
for (const a of AGENT_NAMES) { rmSync(`/tmp/wt/tmp-dp-${a}.db`, { force: true }); savers.set(a, SqliteSaver.fromConnString(`/tmp/wt/tmp-dp-${a}.db`)); }
const t = Date.now();
const all = await deploy({ threads: +(process.argv[2] ?? 100), broken: 70, waiting: 8, open: (a, id) => driveLocally(a, savers.get(a)!)(id) });
console.log("ms", Date.now() - t);
for (const d of all) {
  const g = createDeployedAgent(d.agent, savers.get(d.agent)!);
  let line = "";
  try {
    const s: any = await g.getState({ configurable: { thread_id: d.threadId } });
    line = `next=${s.next} err=${s.tasks?.map((x: any) => [x.name, !!x.error, x.interrupts?.length])} viol=${refusalsOf(s.values.messages).length} ` + s.values.messages.map((m: any) => m.type[0] + (m.tool_calls?.map((c: any) => c.id) ?? "") + (m.tool_call_id ?? "")).join(" ");
  } catch (e) { line = "THROWS " + String(e).slice(0, 80); }
  console.log(d.threadId, d.kind, d.story.slice(0, 40), "|", line.slice(0, 300));
}
