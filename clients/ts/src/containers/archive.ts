import { lstat, mkdir, open, readdir, readlink, realpath, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, posix, resolve, sep } from "node:path";
import { CopyError } from "./copyerror.js";
import {
  ArchiveError,
  archiveEnd,
  headerOf,
  membersOf,
  padding,
  type ReadAt,
  type StoredMember,
} from "./tar.js";

/** The size of the parts in which a file is copied. */
const copyBytes = 256 * 1024;

/** Is called with the path of what is neither a file nor a folder, and is not copied. */
export type OnSkipped = (path: string) => void;

/**
 * Returns the folder and the last part of a path in a container: "." if it is a root. Throws a TypeError
 * for an empty path.
 */
export function splitRemote(remote: string): { folder: string; name: string } {
  if (typeof remote !== "string" || remote === "") {
    throw new TypeError("the path in the container must not be empty");
  }
  const path = posix.normalize(remote).replace(/(?<=.)\/+$/, "");
  const { dir, base } = posix.parse(path);
  if (["", ".", ".."].includes(base)) return { folder: path, name: "." };
  return { folder: dir || ".", name: base };
}

/**
 * Yields the archive of a file, or of a folder with all that it contains, as `name`. Symbolic links are
 * written as such. Rejects with the error of Node.js for what cannot be read, and with a CopyError for a
 * file that becomes shorter meanwhile.
 */
export async function* pack(
  local: string,
  name: string,
  onSkipped: OnSkipped,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* packMember(await realpath(local), name, onSkipped);
  yield archiveEnd;
}

async function* packMember(
  path: string,
  name: string,
  onSkipped: OnSkipped,
): AsyncGenerator<Uint8Array, void, undefined> {
  const info = await lstat(path);
  const { mode } = info;
  if (info.isDirectory()) {
    yield headerOf({ name: `${name}/`, type: "folder", size: 0, mode, target: "" });
    for (const each of (await readdir(path)).sort()) {
      yield* packMember(join(path, each), `${name}/${each}`, onSkipped);
    }
  } else if (info.isSymbolicLink()) {
    const target = await readlink(path);
    yield headerOf({ name, type: "link", size: 0, mode, target });
  } else if (info.isFile()) {
    yield* packFile(path, name);
  } else {
    onSkipped(path);
  }
}

async function* packFile(path: string, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(path);
  try {
    const { size, mode } = await file.stat();
    yield headerOf({ name, type: "file", size, mode, target: "" });
    const read = reading(file);
    for (let offset = 0; offset < size; offset += copyBytes) {
      const wanted = Math.min(copyBytes, size - offset);
      const bytes = await read(offset, wanted);
      if (bytes.length < wanted)
        throw new CopyError(`${path} has become shorter while it was read`);
      yield bytes;
    }
    yield padding(size);
  } finally {
    await file.close();
  }
}

/**
 * Writes what an archive has as `name` to the path `local`, and all below it. Permissions are those of
 * the archive, less the umask. Anything but files and folders is skipped, as by kubectl.
 *
 * Rejects with a CopyError before anything is written if a path leaves `local`, or if the archive is
 * invalid, and with the error of Node.js for what cannot be written.
 */
export async function unpack(
  archive: FileHandle,
  name: string,
  local: string,
  onSkipped: OnSkipped,
): Promise<void> {
  const read = reading(archive);
  const root = await resolved(local);
  let isEmpty = true;
  for await (const member of members(read)) {
    await targetOf(member, name, root);
    isEmpty = false;
  }
  if (isEmpty) throw new CopyError("the archive of the container is empty");
  const contents = new Map<string, StoredMember>();
  for await (const member of members(read)) {
    // The content of a hard link is that of the earlier member.
    const linked =
      member.type === "hardlink" ? contents.get(posix.normalize(member.target)) : member;
    const content = linked && { ...linked, name: member.name };
    if (content?.type === "file") contents.set(posix.normalize(member.name), content);
    const target = await targetOf(member, name, root);
    if (content?.type === "folder") await mkdir(target, { recursive: true });
    else if (content?.type === "file") await writeFile(read, content, target);
    else onSkipped(member.name);
  }
}

async function* members(read: ReadAt): AsyncGenerator<StoredMember, void, undefined> {
  try {
    yield* membersOf(read);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new CopyError(`the archive of the container is invalid: ${error.message}`);
  }
}

/** Returns the path of a member of an archive. Rejects with a CopyError if it leaves the root. */
async function targetOf(
  { name: member }: StoredMember,
  name: string,
  root: string,
): Promise<string> {
  const parts = member.split("/");
  const path = posix.normalize(member).replace(/(?<=.)\/+$/, "");
  const isWithin = path === name || path.startsWith(`${name}/`) || name === ".";
  const isUnsafe = member.startsWith("/") || parts.includes("..") || member.includes("\0");
  const isOther = sep !== "/" && parts.some((part) => part.includes(sep) || part.includes(":"));
  if (isUnsafe || isOther || !isWithin) {
    const quoted = JSON.stringify(member);
    throw new CopyError(
      `the archive of the container has a path that leaves the target: ${quoted}`,
    );
  }
  const relative = name === "." ? path : path.slice(name.length + 1);
  if (relative === "" || relative === ".") return root;
  // A symbolic link may exist there. No member of an archive becomes one.
  const real = await resolved(join(root, ...relative.split("/")));
  if (real.startsWith(root.endsWith(sep) ? root : root + sep)) return real;
  throw new CopyError(`a symbolic link leads out of the target: ${JSON.stringify(member)}`);
}

/** The maximum number of symbolic links that a path may lead through to a file that does not exist. */
const maxLinks = 40;

/** Returns a path without symbolic links. Its last parts need not exist. */
async function resolved(path: string, links = 0): Promise<string> {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const parent = await resolved(dirname(absolute), links);
  const real = join(parent, basename(absolute));
  const target = await linkTarget(real);
  if (target === undefined) return real;
  if (links === maxLinks) throw new CopyError(`too many symbolic links at ${absolute}`);
  return resolved(resolve(parent, target), links + 1);
}

/** Returns what a symbolic link leads to; undefined if there is none. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

async function writeFile(read: ReadAt, member: StoredMember, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const file = await open(target, "w", member.mode & 0o777);
  try {
    for (let offset = 0; offset < member.size; offset += copyBytes) {
      const wanted = Math.min(copyBytes, member.size - offset);
      await file.writeFile(await read(member.offset + offset, wanted));
    }
  } finally {
    await file.close();
  }
}

/** Returns a function that reads from offsets of a file. */
function reading(file: FileHandle): ReadAt {
  return async (offset, size) => {
    const buffer = Buffer.allocUnsafe(size);
    let end = 0;
    while (end < size) {
      const { bytesRead } = await file.read(buffer, end, size - end, offset + end);
      if (bytesRead === 0) break;
      end += bytesRead;
    }
    return buffer.subarray(0, end);
  };
}
