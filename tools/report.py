#!/usr/bin/env python3
"""Prints what the tree looks like: a thing to look at, never a gate.

Longest files and functions, the share of function lines that are in functions over 100 lines, parameters, methods a class,
what a header drags in (lines after preprocessing), the share of comment lines. The C++ is read by a small scanner that
knows comments, strings and braces, not by a compiler: counts are right to a few lines.

usage: tools/report.py [--top N] [--headers N] [--root ROOT]
"""

import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tree

LONG_FUNCTION = 100

LABELS = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")
OPERATOR = re.compile(r"operator\s*[^\w\s(]+")
MEMBER_INITIALIZER = re.compile(r"(?<!:):(?!:).*[\w>]\s*$", re.S)   # `: a_{1}, b_` before the next brace

Function = collections.namedtuple("Function", "path line name lines parameters")
Class = collections.namedtuple("Class", "path line name methods")


def blank_out(text):
    """The code alone: comments, strings, characters and preprocessor lines become spaces, line breaks stay.
    Also returns the set of line numbers that hold nothing but a comment."""
    out, i, n = [], 0, len(text)
    raw = re.compile(r'R"([^\s()\\]{0,16})\(')
    while i < n:
        two = text[i:i + 2]
        if two == "//":
            end = text.find("\n", i)
            end = n if end < 0 else end
        elif two == "/*":
            end = text.find("*/", i + 2)
            end = n if end < 0 else end + 2
        elif text[i] == "R" and raw.match(text, i) and not (i and (text[i - 1].isalnum() or text[i - 1] == "_")):
            close = ")" + raw.match(text, i).group(1) + '"'
            end = text.find(close, i)
            end = n if end < 0 else end + len(close)
        elif text[i] == '"' or (text[i] == "'" and not (i and text[i - 1].isalnum())):
            end = i + 1
            while end < n and text[end] != text[i] and text[end] != "\n":
                end += 2 if text[end] == "\\" else 1
            end = min(end + 1, n)
        elif text[i] == "#" and not text[text.rfind("\n", 0, i) + 1:i].strip():
            end = i
            while True:
                end = text.find("\n", end)
                if end < 0 or text[end - 1] != "\\":
                    break
                end += 1
            end = n if end < 0 else end
        else:
            out.append(text[i])
            i += 1
            continue
        out.append("".join(c if c == "\n" else " " for c in text[i:end]))
        i = end
    return "".join(out)


def count_comment_lines(text):
    comments, inside = 0, False
    for line in text.splitlines():
        stripped = line.strip()
        if inside or stripped.startswith(("//", "/*")):
            comments += 1
            if stripped.startswith("/*"):
                inside = True
            if "*/" in stripped:
                inside = False
    return comments


def matching_parenthesis(head):
    """(start, end) of the first parenthesis group at depth 0 that follows a name, or None."""
    depth, start = 0, None
    for i, c in enumerate(head):
        if c == "(":
            if depth == 0:
                start = i
            depth += 1
        elif c == ")":
            depth -= 1
            before = head[:start or 0]
            in_angles = "operator" not in before and before.count("<") > before.count(">")
            if depth == 0 and start is not None and not in_angles and re.search(r"[\w>\])=!<+\-*/|&^%~]\s*$", before):
                return start, i
    return None


def count_parameters(arguments):
    arguments = arguments.strip()
    if not arguments or arguments == "void":
        return 0
    depth, commas = 0, 0
    for c in arguments:
        if c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            commas += 1
    return commas + 1


def classify(head):
    """What an opening brace after this text begins: namespace, class, enum, function or other; and its name."""
    head = head[LABELS.match(head).end():].strip()
    head = re.sub(r"^(template\s*<[^{}]*?>\s*(?=class|struct|[\w:~]))+", "", head)
    if re.match(r"^(inline\s+)?namespace\b", head) or head.startswith("extern"):
        return "namespace", head
    match = re.match(r"^(?:typedef\s+)?(class|struct|union)\s+(?:[A-Z_]+\(.*?\)\s*)?([\w:<>, ]*?)\s*(?:final\s*)?(?:(?<!:):(?!:).*)?$",
                     head, re.S)
    if match and "(" not in match.group(2):
        return "class", match.group(2).strip()
    if re.match(r"^enum\b", head):
        return "enum", head
    group = matching_parenthesis(head)
    if group and not re.search(r"(^|[^=!<>])=\s*$|\breturn\b", head) and "=" not in OPERATOR.sub("", head[:group[0]]):
        if MEMBER_INITIALIZER.search(head[group[1] + 1:]):
            return "initializer", head
        name = re.search(r"([\w:~]+|operator\s*\S+)\s*$", head[:group[0]])
        return "function", (name.group(1) if name else "?", head[group[0] + 1:group[1]])
    return "other", head


def scan(path, text):
    """The functions and classes defined in a file."""
    code = blank_out(text)
    functions, classes, stack = [], [], []   # stack of [kind, name, line, methods, parameters]
    head_start, line, paren = 0, 1, 0
    for i, c in enumerate(code):
        if c == "\n":
            line += 1
        inside_function = any(s[0] in ("function", "other", "initializer") for s in stack)
        if c == "(":
            paren += 1
        elif c == ")":
            paren = max(0, paren - 1)
        elif c == "{":
            kind, name, parameters = "other", "", ""
            if not inside_function and paren == 0:
                head = code[head_start:i]
                kind, name = classify(head)
                if kind == "function":
                    name, parameters = name
                    if stack and stack[-1][0] == "class":
                        stack[-1][3] += 1
                        name = f"{stack[-1][1]}::{name}"
            head = code[head_start:i]
            first = line - head[LABELS.match(head).end():].count("\n") if kind == "function" else line
            stack.append([kind, name, first, 0, parameters])
            if kind != "initializer":
                head_start = i + 1
        elif c == "}":
            if stack:
                kind, name, first, methods, parameters = stack.pop()
                if kind == "initializer":
                    continue
                if kind == "function":
                    functions.append(Function(path, first, name, line - first + 1, count_parameters(parameters)))
                elif kind == "class":
                    classes.append(Class(path, first, name, methods))
            head_start = i + 1
        elif c == ";" and not inside_function and paren == 0:
            head = code[head_start:i]
            if stack and stack[-1][0] == "class" and matching_parenthesis(head) and not re.match(
                    r"\s*(using|friend|static_assert|typedef)\b", head):
                stack[-1][3] += 1
            head_start = i + 1
    return functions, classes


def header_costs(root, paths, count):
    """Lines after preprocessing of the headers that most files include, dearest first."""
    compiler = shutil.which("g++") or shutil.which("clang++-16")
    wheel = glob.glob(str(root / ".venv/lib/python3*/site-packages/pyarrow/include"))
    if compiler is None:
        return []
    includes = collections.Counter()
    for path in paths:
        includes.update(re.findall(r'#\s*include\s*"([^"]+)"', tree.read(root, path)))
    headers = [h for h, _ in includes.most_common() if (root / "src" / h).is_file() or (root / "include" / h).is_file()]
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        for header in headers[:count]:
            source = os.path.join(folder, "one.cc")
            with open(source, "w", encoding="utf-8") as out:
                out.write(f'#include "{header}"\n')
            command = [compiler, "-std=c++20", "-E", "-P", "-I", str(root / "src"), "-I", str(root / "include")]
            command += [word for folder_ in wheel for word in ("-isystem", folder_)] + [source]
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode == 0:
                costs.append((sum(1 for l in done.stdout.splitlines() if l.strip()), header, includes[header]))
    return sorted(costs, reverse=True)


def table(title, rows):
    print(f"\n{title}")
    for row in rows:
        print("  " + "  ".join(f"{value:>7}" if isinstance(value, int) else str(value) for value in row))


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def main(arguments):
    parser = argparse.ArgumentParser(description="What the tree looks like.")
    parser.add_argument("--top", type=int, default=12, help="rows a table")
    parser.add_argument("--headers", type=int, default=20, help="how many of the most included headers to preprocess")
    parser.add_argument("--root", default=".")
    options = parser.parse_args(arguments)
    root = tree.root_of(options.root)

    paths = tree.cxx_files(root)
    sizes, comments, functions, classes = {}, {}, [], []
    for path in paths:
        text = tree.read(root, path)
        sizes[path] = text.count("\n")
        comments[path] = count_comment_lines(text)
        found, kinds = scan(path, text)
        functions += found
        classes += kinds

    by_room = collections.Counter()
    comments_by_room = collections.Counter()
    tests_by_room = collections.Counter()
    for path in paths:
        room = "/".join(path.parts[:2]) if path.parts[0] in ("src", "tests") else path.parts[0]
        if path.name.endswith("_test.cc"):
            tests_by_room[room] += sizes[path]
        else:
            by_room[room] += sizes[path]
            comments_by_room[room] += comments[path]

    code = [f for f in functions if not f.path.name.endswith("_test.cc") and f.path.parts[0] != "tests"]
    lines = sum(f.lines for f in code)
    print(f"{len(paths)} files, {sum(sizes.values())} lines; {len(code)} functions outside tests, {lines} lines in them")
    print(f"in functions over {LONG_FUNCTION} lines: {share(sum(f.lines for f in code if f.lines > LONG_FUNCTION), lines)}; "
          f"median function {sorted(f.lines for f in code)[len(code) // 2] if code else 0} lines; "
          f"with more than 5 parameters: {sum(1 for f in code if f.parameters > 5)}")

    table("lines    tests  comments  room", [
        (by_room[r], tests_by_room[r], f"{share(comments_by_room[r], by_room[r]):>8}", r)
        for r in sorted(set(by_room) | set(tests_by_room))])
    table("longest files", [(n, p) for p, n in sorted(sizes.items(), key=lambda item: -item[1])[:options.top]])
    table("longest functions", [(f.lines, f"{f.path}:{f.line} {f.name}")
                                for f in sorted(code, key=lambda f: -f.lines)[:options.top]])
    table("most parameters", [(f.parameters, f"{f.path}:{f.line} {f.name}")
                              for f in sorted(code, key=lambda f: -f.parameters)[:options.top] if f.parameters > 4])
    table("methods a class", [(c.methods, f"{c.path}:{c.line} {c.name}")
                              for c in sorted(classes, key=lambda c: -c.methods)[:options.top] if c.methods])
    table("what the most included headers drag in (lines after preprocessing; included by; header)",
          header_costs(root, paths, options.headers))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
