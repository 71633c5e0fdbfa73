#!/usr/bin/env python3
"""Fails on words and shapes that must not be in the project.

Everywhere: notes of unfinished work, paths of one particular machine. In build files: /tmp. In headers: arrow/api.h, which
costs every file that includes the header five seconds. In the rooms: throwing.

usage: tools/check_words.py [ROOT]
"""

import re
import sys

import tree

TEXT = {".h", ".cc", ".py", ".md", ".txt", ".cmake", ".json", ".sh", ".java", ".xml", ".yml", ".yaml", ".toml", ".test",
        ".apt", ".pip", ""}

# (which files, what, why). The patterns are written so that they do not match themselves.
RULES = [
    ("any", re.compile(r"\b(TO[D]O|FIX[M]E|X{3}|HACK[:])\b"), "finish it, or say in the documentation what is missing"),
    ("any", re.compile(r"""(?<![\w.])[/]work/(?=[\w.])"""), "a path of one machine"),
    ("build", re.compile(r"""(?<![\w.}])[/]tmp/(?=[\w.$])"""), "a build must not depend on a fixed temporary path"),
    ("header", re.compile(r"#\s*include\s*[<\"]arrow/api\.h"), "include arrow/type_fwd.h, and the rest in the .cc"),
    ("room", re.compile(r"(?:^|[;{}\s])throw\s+[\w:]+\s*[({]"), "nothing throws in a room: return a Status"),
]


def kinds_of(path):
    kinds = {"any"}
    if path.name in ("CMakeLists.txt", "CMakePresets.json", "Makefile") or path.suffix == ".cmake" or (
            path.parts[0] in ("scripts", ".ci", "cmake")):
        kinds.add("build")
    if path.suffix == ".h":
        kinds.add("header")
    if path.parts[0] == "src" and path.suffix in tree.CXX and not path.name.endswith("_test.cc"):
        kinds.add("room")
    return kinds


def problems_in(path, text):
    kinds = kinds_of(path)
    rules = [rule for rule in RULES if rule[0] in kinds]
    for number, line in enumerate(text.splitlines(), 1):
        for kind, pattern, why in rules:
            subject = line.split("//", 1)[0] if kind == "room" else line
            match = pattern.search(subject)
            if match:
                yield f"{path}:{number}: \"{match.group(0).strip()}\": {why}"


def problems(root):
    for path in tree.files(root):
        if path.suffix in TEXT and not tree.is_fixture(path) and path.name != "LICENSE":
            yield from problems_in(path, tree.read(root, path))


def main(arguments):
    root = tree.root_of(arguments[0] if arguments else ".")
    found = list(problems(root))
    print("\n".join(found) if found else "check_words: nothing forbidden")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
