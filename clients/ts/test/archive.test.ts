import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, suite, test } from "node:test";
import { pack, splitRemote, unpack } from "../src/containers/archive.js";
import { CopyError } from "../src/containers/copyerror.js";
import { archiveEnd, headerOf, padding, type Member } from "../src/containers/tar.js";

const long = `${"a".repeat(90)}/${"b".repeat(90)}/Grüße`;

suite("an archive", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "archive-"));
  });

  afterEach(() => rm(folder, { recursive: true }));

  /** Unpacks an archive of these members, and returns the paths that were skipped. */
  async function unpacked(members: readonly (Partial<Member> & { text?: string })[], name = "top") {
    const parts = members.flatMap(({ text = "", ...member }) => {
      const content = Buffer.from(text);
      const size = content.length;
      const head = { name, type: "file", mode: 0o644, target: "", ...member, size } as const;
      return [headerOf(head), content, padding(size)];
    });
    return unpackedBytes(Buffer.concat([...parts, archiveEnd]), name);
  }

  async function unpackedBytes(archive: Uint8Array, name = "top"): Promise<string[]> {
    const skipped: string[] = [];
    await writeFile(join(folder, "archive.tar"), archive);
    const file = await open(join(folder, "archive.tar"));
    try {
      await unpack(file, name, join(folder, "target"), (path) => skipped.push(path));
    } finally {
      await file.close();
    }
    return skipped;
  }

  test("that is packed is one that tar reads, and that tar packs is unpacked", async () => {
    const source = join(folder, "source");
    await mkdir(join(source, long, ".."), { recursive: true });
    await writeFile(join(source, long), "hello");
    await writeFile(join(source, "run.sh"), "x".repeat(600_000));
    await chmod(join(source, "run.sh"), 0o700);
    await writeFile(join(source, "empty"), "");
    await symlink("run.sh", join(source, "link"));
    const archive = join(folder, "packed.tar");
    await pipeline(
      pack(source, "top", (path) => assert.fail(path)),
      createWriteStream(archive),
    );
    const listed = execFileSync("tar", ["-tf", archive], { encoding: "utf8" }).split("\n");
    assert.ok(listed.includes("top/link") && listed.includes("top/run.sh"), listed.join());
    await mkdir(join(folder, "by-tar"));
    execFileSync("tar", ["-xf", archive, "-C", join(folder, "by-tar")]);
    assert.equal(await readFile(join(folder, "by-tar/top", long), "utf8"), "hello");
    for (const format of ["gnu", "posix", "ustar"]) {
      // The format of 1988 has no names that are so long.
      const excluded = format === "ustar" ? ["--exclude=Gr*"] : [];
      const options = [`--format=${format}`, ...excluded, "-cf", "-", "-C", join(folder, "by-tar")];
      const bytes = execFileSync("tar", [...options, "./top"], { maxBuffer: 10_000_000 });
      assert.deepEqual(await unpackedBytes(bytes), ["./top/link"]);
      const target = join(folder, "target");
      assert.equal((await readFile(join(target, "run.sh"), "utf8")).length, 600_000);
      assert.equal((await stat(join(target, "run.sh"))).mode & 0o777, 0o700);
      if (format !== "ustar") assert.equal(await readFile(join(target, long), "utf8"), "hello");
      await rm(target, { recursive: true });
    }
  });

  test("writes nothing if a path leaves the target", async () => {
    const names = ["top/../../out", "/etc/out", "other", "topology", "top/\0out", "top/.."];
    for (const name of names.filter((each) => !each.includes("\0"))) {
      await assert.rejects(unpacked([{ name: "top/good" }, { name }]), (error: unknown) => {
        assert.ok(error instanceof CopyError);
        assert.match(error.message, /has a path that leaves the target/, name);
        return true;
      });
    }
    assert.deepEqual(await readdir(folder), ["archive.tar"]);
  });

  test("does not follow a symbolic link that leads out of the target", async () => {
    await mkdir(join(folder, "target"));
    await symlink(join(folder, "out"), join(folder, "target/dangling"));
    await symlink(folder, join(folder, "target/up"));
    for (const name of ["top/dangling", "top/up/out", "top/dangling/deeper"]) {
      await assert.rejects(unpacked([{ name }]), /a symbolic link leads out of the target/, name);
    }
    assert.deepEqual((await readdir(folder)).sort(), ["archive.tar", "target"]);
  });

  test("makes no links, and no links of its own members", async () => {
    const skipped = await unpacked([
      { name: "top/", type: "folder" },
      { name: "top/link", type: "link", target: "/etc" },
      { name: "top/link/passwd", text: "mine" },
      { name: "top/first", text: "content" },
      { name: "top/second", type: "hardlink", target: "top/first" },
      { name: "top/third", type: "hardlink", target: "/etc/passwd" },
    ]);
    assert.deepEqual(skipped, ["top/link", "top/third"]);
    assert.equal(await readFile(join(folder, "target/link/passwd"), "utf8"), "mine");
    assert.equal(await readFile(join(folder, "target/second"), "utf8"), "content");
  });

  test("that is cut, empty or damaged is rejected", async () => {
    const whole = Buffer.concat([
      headerOf({ name: "top", type: "file", size: 2000, mode: 0o644, target: "" }),
      Buffer.alloc(2000),
      padding(2000),
      archiveEnd,
    ]);
    const damaged = Buffer.from(whole);
    damaged[0] = 1;
    const negative = Buffer.from(whole);
    negative.fill(0xff, 124, 136);
    const cases = { cut: whole.subarray(0, 1500), none: Buffer.alloc(0), damaged, negative };
    for (const [name, bytes] of Object.entries(cases)) {
      await assert.rejects(unpackedBytes(bytes), /the archive of the container is invalid/, name);
    }
    await assert.rejects(unpackedBytes(archiveEnd), /the archive of the container is empty/);
  });
});

test("a path in a container has a folder and a last part", () => {
  const expected = {
    "/tmp/a": ["/tmp", "a"],
    "/tmp/a/": ["/tmp", "a"],
    a: [".", "a"],
    "/": ["/", "."],
    "..": ["..", "."],
    "/tmp/../etc//x": ["/etc", "x"],
  };
  for (const [path, [folder, name]] of Object.entries(expected)) {
    assert.deepEqual(splitRemote(path), { folder, name }, path);
  }
  assert.throws(() => splitRemote(""), TypeError);
});
