"""Requests about files, as (method, params, what becomes of the result)."""
import base64
from typing import Any, Callable, NamedTuple, Tuple

from ._core import from_uri, uri

SMALL = 16 << 20        # bytes that fs/writeFile takes at once, atomically

Request = Tuple[str, dict, Callable[[dict], Any]]


class Stat(NamedTuple):
    """What is known of a path; times are in seconds since 1970."""
    is_dir: bool
    is_file: bool
    is_symlink: bool
    size: int
    mtime: float


class Entry(NamedTuple):
    name: str
    is_dir: bool
    is_file: bool


def _none(_: dict) -> None:
    return None


def stat(path) -> Request:
    return "fs/getMetadata", {"path": uri(path)}, lambda r: Stat(
        r["isDirectory"], r["isFile"], r.get("isSymlink", False),
        r.get("size", 0), r.get("modifiedAtMs", 0) / 1000)


def scandir(path) -> Request:
    return "fs/readDirectory", {"path": uri(path)}, lambda r: [
        Entry(e["fileName"], e["isDirectory"], e["isFile"])
        for e in r["entries"]]


def mkdir(path, parents: bool) -> Request:
    return "fs/createDirectory", {"path": uri(path),
                                  "recursive": parents}, _none


def remove(path, recursive: bool, missing_ok: bool) -> Request:
    return "fs/remove", {"path": uri(path), "recursive": recursive,
                         "force": missing_ok}, _none


def copy(source, target, recursive: bool) -> Request:
    return "fs/copy", {"sourcePath": uri(source),
                       "destinationPath": uri(target),
                       "recursive": recursive}, _none


def rename(source, target) -> Request:
    return "fs/rename", {"sourcePath": uri(source),
                         "destinationPath": uri(target)}, _none


def realpath(path) -> Request:
    return "fs/canonicalize", {"path": uri(path)}, \
        lambda r: from_uri(r["path"])


def write(path, data: bytes) -> Request:
    return "fs/writeFile", {
        "path": uri(path),
        "dataBase64": base64.b64encode(data).decode()}, _none
