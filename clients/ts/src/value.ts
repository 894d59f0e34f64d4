import { toJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema, type Value } from "@bufbuild/protobuf/wkt";

/** A value as JSON has it. */
export function jsonFrom(value: Value): JsonValue {
  return value.kind.case === undefined ? null : toJson(ValueSchema, value);
}
