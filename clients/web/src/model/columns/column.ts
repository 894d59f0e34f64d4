import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";

/** What a cell shows. */
export interface Cell {
  readonly text: string;
  /** The meaning of the text, which is then shown as a chip. */
  readonly tone?: Tone | undefined;
  /** A time in RFC 3339, whose age is shown instead of the text. */
  readonly since?: string | undefined;
}

/** A column of a table, as data. */
export interface Column {
  /** The name in an address: a word, or the path of a user's own column. */
  readonly id: string;
  readonly title: string;
  /** The fields that the cells need, in the notation of the API. */
  readonly paths: readonly string[];
  /** Returns the cell of an object, which has the fields of `paths` and may lack each of them. */
  readonly cell: (object: KubeValue) => Cell;
  /** The path by which the service sorts. Without it, the column cannot be sorted. */
  readonly sortPath?: string;
  /** Whether the order of the cells is the reverse of that of the path: the youngest is the latest. */
  readonly reversed?: boolean;
  readonly numeric?: boolean;
  /** The minimum width in pixels. */
  readonly width: number;
  /** Whether the column is shown only if the user asks for it. */
  readonly optional?: boolean;
}

/** The columns of a kind. The name and the namespace are added to them. */
export interface KindColumns {
  readonly namespaced: boolean;
  readonly columns: readonly Column[];
}

/** An object as a column reads it: any field may be missing. */
export type Fields = Partial<Record<string, unknown>>;

/** Returns a field that is an object, or an empty object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value : {};
}

/** Returns the elements of a list of objects, or none. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** Returns a number, or a default for what is not one. */
export function numberOf(value: unknown, missing = 0): number {
  return typeof value === "number" ? value : missing;
}

/** Returns a text; empty for what is neither a text, a number nor a boolean. */
export function stringOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

export function specOf(object: KubeValue): Fields {
  return fieldsOf(object.spec);
}

export function statusOf(object: KubeValue): Fields {
  return fieldsOf(object.status);
}

/** Returns the status of a condition: "True", "False", "Unknown"; empty if there is none. */
export function conditionOf(object: KubeValue, type: string): string {
  const conditions = listOf(statusOf(object).conditions);
  return stringOf(conditions.find((condition) => condition.type === type)?.status);
}
