"""Files whose content is renewed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

FilePath: TypeAlias = str | os.PathLike[str]
"""The path of a file."""

Content: TypeAlias = bytes | Path
"""Some bytes, or the path of a file with them."""


def read(content: Content) -> bytes:
    """Return the bytes. Raises OSError if the file cannot be read."""
    return content.read_bytes() if isinstance(content, Path) else content


def file_state(path: Path) -> tuple[int, ...]:
    """Return attributes that differ after the file was written or replaced."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
