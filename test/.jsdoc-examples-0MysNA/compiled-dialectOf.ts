import { createModel, dialectOf } from "langgraph-tether";

const model = await createModel("offline:");
console.log(dialectOf(model)); // openai
