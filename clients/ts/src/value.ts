import { toJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema, type Value } from "@bufbuild/protobuf/wkt";

/** Converts a protobuf Value to JSON. */
export function jsonFrom(value: Value): JsonValue {
  return value.kind.case === undefined ? null : toJson(ValueSchema, value);
}
