import { createModel } from "langgraph-tether";

const model = await createModel("offline:");
const response = await model.invoke("Hello!");
console.log(response.text.split(":")[0]); // I am the offline model
