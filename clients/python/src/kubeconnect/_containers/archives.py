"""Archives of the files that are copied. The functions block."""

from __future__ import annotations

import logging
import os
import posixpath
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from kubeconnect._containers.results import CopyError
from kubeconnect._transport.files import FilePath

if TYPE_CHECKING:  # they are slow to import
    import tarfile

_logger = logging.getLogger("kubeconnect")


def temporary_file() -> IO[bytes]:
    """Return a file without a name, which has an archive. It is removed when it is closed."""
    import tempfile

    return tempfile.TemporaryFile()


def split_remote(remote: str) -> tuple[str, str]:
    """Return the folder and the last part of a path in a container: "." if it is a root. Raises
    ValueError for an empty path.
    """
    if not remote:
        raise ValueError("the path in the container must not be empty")
    folder, name = posixpath.split(posixpath.normpath(remote))
    if name in ("", ".", ".."):
        return posixpath.join(folder, name), "."
    return folder or ".", name


def pack(local: FilePath, name: str, archive: IO[bytes]) -> None:
    """Write a file, or a folder with all that it contains, as ``name``. Symbolic links are written
    as such. Raises OSError for what cannot be read.
    """
    import tarfile

    def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = int(member.mtime)
        return member

    # busybox cannot read the format of POSIX.
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as writer:
        writer.add(os.path.realpath(local), name, filter=without_owner)
    archive.seek(0)


def unpack(archive: IO[bytes], name: str, local: FilePath) -> None:
    """Write what an archive has as ``name`` to the path ``local``, and all below it.

    Permissions are those of the archive, less the umask. Anything but files and folders is skipped,
    with a warning, as kubectl does.

    Raises CopyError before anything is written if a path leaves ``local``, or if the archive is
    invalid, and OSError for what cannot be written.
    """
    import tarfile

    archive.seek(0)
    root = os.path.realpath(local)
    try:
        with tarfile.open(fileobj=archive, mode="r:") as reader:
            members = [(each, _target(each.name, name, root)) for each in reader]
            for member, target in members:
                _write(reader, member, target)
    except (tarfile.TarError, KeyError) as error:  # KeyError: a hard link to nothing
        raise CopyError(f"the archive of the container is invalid: {error}") from error
    if not members:
        raise CopyError("the archive of the container is empty")


def _target(member: str, name: str, root: str) -> str:
    """Return the path of a member of an archive. Raises CopyError if it leaves the root."""
    parts = member.split("/")
    path = posixpath.normpath(member)
    within = path == name or path.startswith(f"{name}/") or name == "."
    unsafe = member.startswith("/") or ".." in parts or "\0" in member
    if os.sep != "/":
        unsafe = unsafe or any(os.sep in part or ":" in part for part in parts)
    if unsafe or not within:
        raise CopyError(
            f"the archive of the container has a path that leaves the target: {member!r}"
        )
    relative = path if name == "." else path[len(name) + 1 :]
    if relative in ("", "."):
        return root
    # A symbolic link may exist there. No member of an archive becomes one.
    real = os.path.realpath(os.path.join(root, *relative.split("/")))
    if not real.startswith(root.rstrip(os.sep) + os.sep):
        raise CopyError(f"a symbolic link leads out of the target: {member!r}")
    return real


def _write(reader: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    if member.isdir():
        os.makedirs(target, exist_ok=True)
        return
    # The content of a hard link is that of the earlier member.
    source = reader.extractfile(member) if member.isreg() or member.islnk() else None
    if source is None:
        _logger.warning("skipped %r, which is neither a file nor a folder", member.name)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    with source, open(os.open(target, flags, member.mode & 0o777), "wb") as file:
        for chunk in _chunks(source):
            file.write(chunk)


def _chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(256 * 1024):
        yield chunk
