/**
 * Applies a JSON patch (RFC 6902) of "add", "remove" and "replace" to a value, in place.
 *
 * @throws Error at the first operation that does not apply.
 */
export function applyPatch(target: unknown, operations: unknown): void {
  if (!Array.isArray(operations)) throw new Error("not a list of operations");
  for (const operation of operations as unknown[]) {
    if (!isOperation(operation)) throw new Error("an operation is not add, remove or replace");
    const { op, path, value } = operation;
    const [container, key] = find(target, path, op === "add");
    if (Array.isArray(container)) {
      container.splice(Number(key), op === "add" ? 0 : 1, ...(op === "remove" ? [] : [value]));
    } else if (op === "remove") {
      Reflect.deleteProperty(container, key);
    } else {
      const member = { value, configurable: true, enumerable: true, writable: true };
      Object.defineProperty(container, key, member); // the name may be __proto__
    }
  }
}

interface Operation {
  readonly op: "add" | "remove" | "replace";
  readonly path: string;
  readonly value?: unknown;
}

function isOperation(value: unknown): value is Operation {
  if (!isObject(value)) return false;
  const { op, path, value: operand } = value;
  const known = op === "remove" || ((op === "add" || op === "replace") && operand !== undefined);
  return known && typeof path === "string";
}

/** Returns the object or list that contains the target of a path (RFC 6901), and the key in it. */
function find(target: unknown, path: string, adding: boolean): [container: Container, key: string] {
  if (!/^(\/([^/~]|~[01])*)+$/.test(path)) throw new Error(`"${path}" is not a path`);
  const names = path.slice(1).split("/");
  const key = unescaped(names.pop() ?? "");
  let container = target;
  for (const name of names.map(unescaped)) {
    container = isKey(container, name) ? container[name] : undefined;
  }
  if (!isKey(container, key, adding)) throw new Error(`path "${path}" does not exist`);
  return [container, key];
}

function unescaped(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * Returns whether `name` is a member of an object or an index of a list. With `adding`, also
 * whether it can be added.
 */
function isKey(container: unknown, name: string, adding = false): container is Container {
  if (!Array.isArray(container))
    return isObject(container) && (adding || Object.hasOwn(container, name));
  return /^(0|[1-9][0-9]*)$/.test(name) && Number(name) < container.length + Number(adding);
}

/** An object, or a list by its indices. */
type Container = Record<string, unknown>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
