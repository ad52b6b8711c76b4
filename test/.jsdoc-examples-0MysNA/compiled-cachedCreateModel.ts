import { cachedCreateModel, createAgentGraph, createModel } from "langgraph-tether";

let made = 0;
const shared = cachedCreateModel((name) => {
  made += 1;
  return createModel(name);
});
const writer = createAgentGraph({ model: "offline:", createModel: shared });
const reviewer = createAgentGraph({ model: "offline:", createModel: shared });
await writer.invoke({ messages: "Hello!" });
await reviewer.invoke({ messages: "Hello!" });
console.log(made); // 1
