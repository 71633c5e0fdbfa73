"""The project's files as the other tools see them: what git tracks, or, without git, what lies in the folder."""

import pathlib
import subprocess

SKIPPED_FOLDERS = {".git", "build", "warehouse", "__pycache__"}
CXX = {".h", ".cc"}


def root_of(path):
    return pathlib.Path(path).resolve()


def files(root):
    """Paths relative to root, sorted; tracked files that were deleted but not yet committed are left out."""
    names = _tracked(root)
    if names is None:
        names = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
        names = [n for n in names if not _skipped(n)]
    return [pathlib.PurePosixPath(n) for n in sorted(names) if (root / n).is_file()]


def _tracked(root):
    if not (root / ".git").exists():
        return None
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    if done.returncode != 0:
        return None
    return [n for n in done.stdout.decode().split("\0") if n]


def _skipped(name):
    parts = name.split("/")
    return any(p in SKIPPED_FOLDERS or p.startswith(".venv") for p in parts)


def is_fixture(path):
    return path.parts[:2] == ("tests", "fixtures")


def cxx_files(root):
    return [p for p in files(root) if p.suffix in CXX and not is_fixture(p)]


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")
