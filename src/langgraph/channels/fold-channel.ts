import { BinaryOperatorAggregate } from "@langchain/langgraph";

/**
 * LangGraph's channel with a reducer, as a left fold over single updates. LangGraph's own one throws if two updates of
 * a step replace its value, and such an error loses the results of the whole step. Here the later one replaces it.
 */
export class FoldChannel extends BinaryOperatorAggregate<unknown> {
  override fromCheckpoint(checkpoint?: unknown): this {
    const copy = new FoldChannel(this.operator, this.initialValueFactory);
    copy.value = super.fromCheckpoint(checkpoint).value;
    return copy as this;
  }

  override update(values: Parameters<BinaryOperatorAggregate<unknown>["update"]>[0]): boolean {
    for (const value of values) super.update([value]);
    return values.length > 0;
  }
}
