#!/usr/bin/env python3
"""Fails on an include that goes up or sideways.

Every room under src/ stands on a floor. A file of a room may include its own room and rooms on lower floors that its
CMakeLists.txt names under DEPENDS, directly or through another of them. Rooms on one floor do not see each other.
The public API is above the rooms, but for the few words that callers and rooms share (VOCABULARY).
include/headrace/ includes only itself; cli/, python/ and bench/ (but for bench/micro/) include only "headrace/..." and
themselves. Tests may include anything.

usage: tools/check_layers.py [ROOT]
"""

import re
import sys

import tree

FLOORS = {
    "base": 0,
    "io": 1, "format": 1,
    "file": 2, "changelog": 2,
    "catalog": 3,
    "lsm": 4, "commit": 4,
    "read": 5,
    "write": 6,
    "sql": 7, "ingest": 7, "maintain": 7,
    "pipeline": 8,
    "serve": 9,
    "api": 10,
}
VOCABULARY = {"headrace/alter_terms.h", "headrace/error.h", "headrace/check_terms.h", "headrace/ingest_terms.h",
              "headrace/sync_terms.h"}
FACES = ("cli", "python", "bench")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
ROOM_CALL = re.compile(r"headrace_room\(\s*(\w+)([^)]*)\)", re.S)


def declared_dependencies(root):
    """Room -> the rooms after DEPENDS in its CMakeLists.txt; rooms without a folder are absent."""
    depends = {}
    for room in FLOORS:
        path = root / "src" / room / "CMakeLists.txt"
        if not path.is_file():
            continue
        call = ROOM_CALL.search(re.sub(r"#.*", "", path.read_text()))
        if call is None or call.group(1) != room:
            depends[room] = None
            continue
        words, listing = [], False
        for word in call.group(2).split():
            if word in ("LIBS", "FOLDER", "APART"):
                listing = False
            elif word == "DEPENDS":
                listing = True
            elif listing:
                words.append(word)
        depends[room] = words
    return depends


def closure(room, depends):
    seen, todo = set(), list(depends.get(room) or [])
    while todo:
        other = todo.pop()
        if other not in seen:
            seen.add(other)
            todo.extend(depends.get(other) or [])
    return seen


def check_declarations(depends):
    for room, words in sorted(depends.items()):
        where = f"src/{room}/CMakeLists.txt"
        if words is None:
            yield f"{where}: no headrace_room({room} ...) in it"
            continue
        for other in words:
            if other not in FLOORS:
                yield f"{where}: depends on {other}, which is no room"
            elif FLOORS[other] >= FLOORS[room]:
                yield (f"{where}: {room} (floor {FLOORS[room]}) depends on {other} (floor {FLOORS[other]}); "
                       "only lower floors are allowed")


def complaint(path, included, below):
    """What is wrong with this file including that, or None. `below` maps a room to the rooms it may see."""
    target = included.split("/", 1)[0]
    own = path.parts
    if own[0] == "src":
        room = own[1]
        if room not in FLOORS:
            return f"{room} is no room: give it a floor in tools/check_layers.py and in CMakeLists.txt"
        if target == "headrace" and room != "api" and included not in VOCABULARY:
            return f'{room} may not include the public API ("{included}"): it is above'
        if target not in FLOORS or target == room:
            return None
        if FLOORS[target] == FLOORS[room]:
            return f'{room} and {target} are siblings on floor {FLOORS[room]} and may not see each other ("{included}")'
        if FLOORS[target] > FLOORS[room]:
            return f'{room} (floor {FLOORS[room]}) may not include {target} (floor {FLOORS[target]}) ("{included}")'
        if target not in below.get(room, ()):
            return f'{room} includes "{included}" but its CMakeLists.txt does not depend on {target}'
        return None
    if own[0] == "include" and target in FLOORS:
        return f'a public header may include only "headrace/..." ("{included}")'
    if own[0] in FACES and own[:2] != ("bench", "micro"):
        if target in FLOORS or (target in FACES and target != own[0]):
            return f'{own[0]} may include only "headrace/..." and "{own[0]}/..." ("{included}")'
    return None


def check_include(root, path, quote, included, below):
    problem = complaint(path, included, below)
    if problem or quote != '"' or path.parts[0] not in ("src", "include", "cli", "bench"):
        return problem
    target = included.split("/", 1)[0]
    if "/" not in included:
        return f'write the room too: "{included}" should be "{path.parent.name}/{included}"'
    if target in FLOORS and not (root / "src" / included).is_file():
        return f'"{included}" does not exist below src/'
    return None


def problems(root):
    depends = declared_dependencies(root)
    yield from check_declarations(depends)
    below = {room: closure(room, depends) for room in depends}
    for path in tree.cxx_files(root):
        if path.parts[0] == "tests":
            continue
        text = tree.read(root, path)
        for match in INCLUDE.finditer(text):
            problem = check_include(root, path, match.group(1), match.group(2), below)
            if problem:
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {problem}"


def main(arguments):
    root = tree.root_of(arguments[0] if arguments else ".")
    found = list(problems(root))
    print("\n".join(found) if found else "check_layers: every include goes down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
