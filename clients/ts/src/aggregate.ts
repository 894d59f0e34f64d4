import type { Value } from "@bufbuild/protobuf/wkt";
import { valueOf } from "./enum.js";
import { KubeconnectError } from "./error.js";
import {
  AggregateFunction as FunctionValue,
  type AggregateResult as AggregateMessage,
} from "./gen/kubeconnect/v1/read_pb.js";

/** What is computed over the values of a path. */
export type AggregateFunction = "sum" | "average" | "min" | "max";

/** A value to compute over objects. `sum`, `average`, `min` and `max` create one. */
export interface Aggregate<F extends AggregateFunction = AggregateFunction> {
  readonly function: F;
  /** A path, as in `fields`. All values of an object are included. */
  readonly path: string;
}

/**
 * Adds up the numbers and quantities ("500m", "2Gi") of a path, exactly. A string counts as
 * Kubernetes reads quantities: rounded to billionths, away from 0.
 */
export function sum(path: string): Aggregate<"sum"> {
  return { function: "sum", path };
}

/** Divides the sum of a path by the number of values that were added up. */
export function average(path: string): Aggregate<"average"> {
  return { function: "average", path };
}

/**
 * Selects the first value of a path in the order of `orderBy`: the smallest number or quantity, or
 * the first string, such as the oldest timestamp.
 */
export function min(path: string): Aggregate<"min"> {
  return { function: "min", path };
}

/** Selects the last value of a path in the order of `orderBy`. Strings come after numbers. */
export function max(path: string): Aggregate<"max"> {
  return { function: "max", path };
}

/** The type of a function's result: a number, or a value as it is in an object. */
export type AggregateValue<F extends AggregateFunction = AggregateFunction> = F extends
  "sum" | "average"
  ? number
  : string | number | boolean;

/** The results of several aggregates, in the order of the request. */
export type AggregateResults<A extends readonly Aggregate[]> = {
  readonly [I in keyof A]: AggregateResult<A[I]["function"]>;
};

/** The result of an aggregate. */
export class AggregateResult<F extends AggregateFunction = AggregateFunction> {
  /**
   * Of `sum` and `average` the number, rounded to a double; of `min` and `max` the value as it is
   * in the object, such as "500m". Null if there is no value.
   */
  readonly value: AggregateValue<F> | null;
  /**
   * The exact result as a decimal number, such as "0.1" or "12884901888". An average with more
   * digits is rounded to 20 after the decimal point. Empty if the result is not a number or
   * quantity.
   */
  readonly exact: string;
  /** The number of values that are included. */
  readonly valueCount: number;
  /** The number of values that `sum` and `average` omit, because they are not numbers. */
  readonly omittedValueCount: number;

  /** @internal */
  constructor(message: AggregateMessage) {
    this.value = scalarFrom(message.value) as AggregateValue<F> | null;
    this.exact = message.exact;
    this.valueCount = Number(message.valueCount);
    this.omittedValueCount = Number(message.omittedValueCount);
  }

  /** The exact result, if it is a whole number; otherwise undefined. */
  get bigint(): bigint | undefined {
    return wholeNumber.test(this.exact) ? BigInt(this.exact) : undefined;
  }

  /** The exact result, if a number can represent it: a whole number of at most 2^53 - 1. */
  get safeInteger(): number | undefined {
    const number = wholeNumber.test(this.exact) ? Number(this.exact) : NaN;
    return Number.isSafeInteger(number) ? number : undefined;
  }
}

/** Returns the aggregates of a request. */
export function aggregateFields(aggregates: readonly Aggregate[]) {
  return aggregates.map(({ function: name, path }) => ({
    function: valueOf(functions, name),
    path,
  }));
}

/** Converts the results of aggregates, of which there must be one for each. */
export function aggregatesFrom<A extends readonly Aggregate[]>(
  requested: A,
  results: readonly AggregateMessage[],
): AggregateResults<A> {
  if (results.length !== requested.length) {
    throw KubeconnectError.internal(
      `invalid response: ${results.length} results for ${requested.length} aggregates`,
    );
  }
  return results.map((result) => new AggregateResult(result)) as AggregateResults<A>;
}

function scalarFrom(value: Value | undefined): string | number | boolean | null {
  const kind = value?.kind;
  switch (kind?.case) {
    case "numberValue":
    case "stringValue":
    case "boolValue":
      return kind.value;
    default:
      return null;
  }
}

const functions: Record<AggregateFunction, FunctionValue> = {
  sum: FunctionValue.SUM,
  average: FunctionValue.AVERAGE,
  min: FunctionValue.MIN,
  max: FunctionValue.MAX,
};

const wholeNumber = /^-?[0-9]+$/;
