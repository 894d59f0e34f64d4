/**
 * Archives of tar, as streams: what is written is the format of GNU, which busybox reads, and what is
 * read has the long names of GNU or of POSIX.
 */

export const blockSize = 512;

/** A member of an archive. */
export interface Member {
  /** With "/" between its parts; that of a folder may end with it. */
  readonly name: string;
  readonly type: "file" | "folder" | "link" | "hardlink" | "other";
  /** The size of the content in bytes, which only files have. */
  readonly size: number;
  readonly mode: number;
  /** What a link, or a hard link, leads to. */
  readonly target: string;
}

/** Archives that are not as they should be. */
export class ArchiveError extends Error {}

/** The maximum size of the header of a long name. */
const maxNameBytes = 64 * 1024;

const types = { file: "0", hardlink: "1", link: "2", folder: "5", other: "3" } as const;

/** Returns the header of a member, with long names before it. Its modification time is 0. */
export function headerOf({ name, type, size, mode, target }: Member): Uint8Array {
  const nameBytes = new TextEncoder().encode(name);
  const targetBytes = new TextEncoder().encode(target);
  return joined([
    ...(targetBytes.length > 100 ? longName("K", targetBytes) : []),
    ...(nameBytes.length > 100 ? longName("L", nameBytes) : []),
    header(nameBytes, types[type], size, mode, targetBytes),
  ]);
}

/** Returns the bytes that follow a content, up to the next block. */
export function padding(size: number): Uint8Array {
  return new Uint8Array((blockSize - (size % blockSize)) % blockSize);
}

/** The end of an archive. */
export const archiveEnd = new Uint8Array(2 * blockSize);

function longName(type: "K" | "L", name: Uint8Array): Uint8Array[] {
  const content = joined([name, Uint8Array.of(0)]);
  const link = new TextEncoder().encode("././@LongLink");
  return [
    header(link, type, content.length, 0o644, new Uint8Array()),
    content,
    padding(content.length),
  ];
}

function header(
  name: Uint8Array,
  type: string,
  size: number,
  mode: number,
  target: Uint8Array,
): Uint8Array {
  const block = new Uint8Array(blockSize);
  block.set(name.subarray(0, 100), 0);
  block.set(numberField(mode & 0o7777, 8), 100);
  block.set(numberField(0, 8), 108); // the user
  block.set(numberField(0, 8), 116); // the group
  block.set(numberField(size, 12), 124);
  block.set(numberField(0, 12), 136); // the modification time
  block.fill(0x20, 148, 156); // the checksum is that of a header with spaces here
  block.set(new TextEncoder().encode(type), 156);
  block.set(target.subarray(0, 100), 157);
  block.set(new TextEncoder().encode("ustar  \0"), 257);
  const sum = block.reduce((sum, byte) => sum + byte, 0);
  block.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return block;
}

/** Returns a number in octal digits, or as GNU writes numbers that are too large for that. */
function numberField(value: number, length: number): Uint8Array {
  const digits = value.toString(8).padStart(length - 1, "0");
  if (digits.length < length) return new TextEncoder().encode(`${digits}\0`);
  const field = new Uint8Array(length);
  for (let at = length - 1, rest = value; at > 0; at--, rest = Math.floor(rest / 256)) {
    field[at] = rest % 256;
  }
  field[0] = 0x80;
  return field;
}

/** Reads bytes of an archive: exactly `size` from an offset, or fewer at its end. */
export type ReadAt = (offset: number, size: number) => Promise<Uint8Array>;

/** A member, and where its content is. */
export interface StoredMember extends Member {
  readonly offset: number;
}

/** Reads the members of an archive. Throws an ArchiveError if it is invalid or cut. */
export async function* membersOf(read: ReadAt): AsyncGenerator<StoredMember, void, undefined> {
  let next: { name?: string; target?: string; size?: number } = {};
  for (let offset = 0; ;) {
    const block = await exactly(read, offset, blockSize);
    if (block.every((byte) => byte === 0)) return;
    checkSum(block);
    const size = next.size ?? numberOf(block.subarray(124, 136));
    const content = offset + blockSize;
    const type = String.fromCharCode(block[156] ?? 0);
    const hasContent = !"123456".includes(type);
    offset = content + (hasContent ? size + padding(size).length : 0);
    if (type === "L" || type === "K") {
      const text = untilZero(await name(read, content, size));
      next = { ...next, [type === "L" ? "name" : "target"]: text };
    } else if (type === "x") {
      next = { ...next, ...recordsOf(await name(read, content, size)) };
    } else if (type !== "g") {
      if (hasContent && size > 0) await exactly(read, content + size - 1, 1); // the archive has it all
      yield {
        name: next.name ?? nameOf(block),
        target: next.target ?? untilZero(block.subarray(157, 257)),
        type: typeOf(type),
        size: hasContent ? size : 0,
        mode: numberOf(block.subarray(100, 108)),
        offset: content,
      };
      next = {};
    }
  }
}

function typeOf(type: string): Member["type"] {
  if (type === "\0" || type === "7") return "file";
  const known = (Object.keys(types) as Member["type"][]).find((each) => types[each] === type);
  return known ?? "other";
}

async function exactly(read: ReadAt, offset: number, size: number): Promise<Uint8Array> {
  const bytes = await read(offset, size);
  if (bytes.length < size) throw new ArchiveError("it ends too early");
  return bytes;
}

function name(read: ReadAt, offset: number, size: number): Promise<Uint8Array> {
  if (size > maxNameBytes) throw new ArchiveError("a name is too long");
  return exactly(read, offset, size);
}

function checkSum(block: Uint8Array): void {
  const expected = numberOf(block.subarray(148, 156));
  const sum = block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (sum !== expected) throw new ArchiveError("a header has the wrong checksum");
}

function nameOf(block: Uint8Array): string {
  const name = untilZero(block.subarray(0, 100));
  const isPosix = untilZero(block.subarray(257, 263)) === "ustar";
  const prefix = isPosix ? untilZero(block.subarray(345, 500)) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Returns what the records of a POSIX header have, each of which is "LENGTH KEY=VALUE\n". */
function recordsOf(content: Uint8Array) {
  const found: { name?: string; target?: string; size?: number } = {};
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = Number(textOf(content.subarray(at, Math.max(at, space))));
    if (!Number.isInteger(length) || length < 5 || at + length > content.length) {
      throw new ArchiveError("a record is invalid");
    }
    const record = textOf(content.subarray(space + 1, at + length - 1));
    const equals = record.indexOf("=");
    const value = record.slice(equals + 1);
    const key = record.slice(0, equals);
    if (key === "path") found.name = value;
    if (key === "linkpath") found.target = value;
    if (key === "size") found.size = checked(Number(value));
    at += length;
  }
  return found;
}

function numberOf(field: Uint8Array): number {
  if (((field[0] ?? 0) & 0x80) !== 0) {
    return checked(field.subarray(1).reduce((value, byte) => value * 256 + byte, 0));
  }
  const text = textOf(field).replaceAll("\0", " ").trim();
  if (!/^[0-7]*$/.test(text)) throw new ArchiveError("a number is invalid");
  return checked(parseInt(text || "0", 8));
}

function checked(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new ArchiveError("a number is invalid");
  return value;
}

function untilZero(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return textOf(end < 0 ? bytes : bytes.subarray(0, end));
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
