#!/usr/bin/env python3
"""Fails when a Markdown file names something that is no longer there.

Looked at: links to files; paths in backticks whose first part is a folder of the project or a room (`lsm/levels.h`,
`ingest/source`, `src/io/`; a glob must match something); `make TARGET`; `headrace COMMAND --option` in backticks and in
fenced blocks, against the string literals of cli/ and bench/. What is made by a build (build/, warehouse/) is not looked at.
A line with the comment <!-- unchecked --> is skipped. And a room that has code must have a README.md.

usage: tools/check_docs.py [ROOT]
"""

import re
import sys

import tree
from check_layers import FLOORS

CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
PATH = re.compile(r"^[\w.*-]+(/[\w.*-]+)*/?$")
MAKE = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*make ([a-z][\w-]*)")
PROGRAM = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(?:\S*/)?(headrace(?:-bench)?)(?= |$)(.*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
COMMAND = re.compile(r"^[a-z][a-z-]+$")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
GENERATED = ("build", "warehouse")


class Known:
    """What a document may name: files, folders, make targets, options and words of the programs."""

    def __init__(self, root):
        self.files = {p.as_posix() for p in tree.files(root)}
        self.folders = {parent.as_posix() for p in tree.files(root) for parent in p.parents}
        self.top = {p.split("/")[0] for p in self.files if "/" in p}
        self.targets = set(re.findall(r"^([a-z][\w-]*):", _read(root, "Makefile"), re.M))
        self.literals, self.options = set(), set()
        for path in tree.cxx_files(root):
            if path.parts[0] in ("cli", "bench") and not path.name.endswith("_test.cc"):
                for literal in STRING.findall(tree.read(root, path)):
                    self.literals.update(re.split(r"[\s,|]+", literal))
                    self.options.update(OPTION.findall(literal))
        if self.options:
            self.options.update(("--help", "--version"))
        # Where an option that is not headrace's may come from: what the build and the scripts pass and accept.
        self.build_text = "\n".join(
            tree.read(root, p) for p in tree.files(root)
            if p.name in ("Makefile", "CMakeLists.txt", "CMakePresets.json") or p.suffix in (".py", ".sh", ".java")
            or p.parts[0] in ("scripts", ".ci", "cmake", "tools"))

    def has_path(self, name, folder):
        """A path from the root, from src/ (a room's file, its suffix optional), or from the document's folder."""
        name = name.rstrip("/")
        for base in ("", "src/", "include/", folder):
            full = base + name
            if full in self.files or full in self.folders:
                return True
            if f"{full}.h" in self.files or f"{full}.cc" in self.files:
                return True
            if "*" in full:
                pattern = re.compile(re.escape(full).replace(r"\*", "[^/]*") + "$")
                if any(pattern.match(f) for f in self.files | self.folders):
                    return True
        return False

    def names_project_path(self, span):
        if "/" not in span or not PATH.match(span):
            return False
        first = span.split("/")[0]
        if first in GENERATED:
            return False
        if first in FLOORS and span.rstrip("/") == first:
            return False  # a room that is planned may be named; a file in it may not
        return first in self.top or first in FLOORS or first in ("include", "cli", "python")


def _read(root, name):
    path = root / name
    return path.read_text() if path.is_file() else ""


def lines_with_fences(text):
    """(number, line, inside a fenced block), with shell continuation lines joined."""
    fenced, pending, start = False, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced and line.rstrip().endswith("\\"):
            start = start or number
            pending += line.rstrip()[:-1] + " "
            continue
        yield start or number, pending + line, fenced
        pending, start = "", 0


def check_command(known, text):
    """Problems of one shell line or code span."""
    make = MAKE.match(text)
    if make and known.targets and make.group(1) not in known.targets:
        yield f"`make {make.group(1)}`: the Makefile has no such target"
    program = PROGRAM.match(text)
    if not program or not known.options:
        return
    rest = re.sub(r"'[^']*'|\"[^\"]*\"", " QUOTED ", program.group(2))
    rest = re.split(r"[|>;&#]|<(?!\w)", rest)[0]
    for option in OPTION.findall(rest):
        if option not in known.options:
            yield f"`{option}` of {program.group(1)}: no such option in cli/ or bench/"
    words = rest.split()
    if program.group(1) == "headrace" and words and COMMAND.match(words[0]) and words[0] not in known.literals:
        yield f"`headrace {words[0]}`: no such command in cli/"


def check_span(known, span, folder):
    if known.names_project_path(span) and not known.has_path(span, folder):
        yield f"`{span}` does not exist"
    if known.options and re.fullmatch(r"--[a-z][\w-]*", span) and span not in known.options and span not in known.build_text:
        yield f"`{span}`: no program has this option"
    yield from check_command(known, span)


def check_link(known, root, target, document):
    if re.match(r"^[a-z]+:|^#", target):
        return
    target = target.split("#")[0]
    if target and not (root / document.parent / target).exists():
        yield f"the link to {target} leads nowhere"


def problems_in(root, known, document, text):
    folder = "" if document.parent.as_posix() == "." else document.parent.as_posix() + "/"
    for number, line, fenced in lines_with_fences(text):
        if "<!-- unchecked -->" in line:
            continue
        found = []
        if fenced:
            found += check_command(known, line.strip())
        else:
            for span in CODE_SPAN.findall(line):
                found += check_span(known, span.strip(), folder)
            for target in LINK.findall(CODE_SPAN.sub("", line)):
                found += check_link(known, root, target, document)
        for problem in found:
            yield f"{document}:{number}: {problem}"


def missing_readmes(known):
    rooms = {f.split("/")[1] for f in known.files if re.match(r"src/\w+/.*\.(cc|h)$", f)}
    for room in sorted(rooms):
        if f"src/{room}/README.md" not in known.files:
            yield f"src/{room}: has code but no README.md"


def problems(root):
    known = Known(root)
    yield from missing_readmes(known)
    for path in tree.files(root):
        if path.suffix == ".md" and not tree.is_fixture(path):
            yield from problems_in(root, known, path, tree.read(root, path))


def main(arguments):
    root = tree.root_of(arguments[0] if arguments else ".")
    found = list(problems(root))
    print("\n".join(found) if found else "check_docs: what the documentation names is there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
