"""What the interop tests share: the programs, comparing what they read with the model, and the results for docs/conformance.md.

A test compares through Check, which notes for each feature, writer and reader whether it held. The notes of a test class go to
<build/interop>/results/<class>.jsonl, from which tools/conformance.py makes the page: what did not run is not in it.
"""

import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import encoding
import model
import peers

JAVA, PYPAIMON, HEADRACE = "java", "pypaimon", "headrace"


def to_micros(lines, table):
    """Rows of a primary-key table with nanoseconds cut to microseconds: pypaimon keeps them only where it need not merge."""
    cut = [name for name, t in table.fields.items() if re.match(r"TIMESTAMP\([789]\)", t)]
    if not cut or not table.keyed:
        return lines
    out = []
    for line in lines:
        row = json.loads(line)
        for name in cut:
            if row[name] is not None:
                row[name] = re.sub(r"(\.\d{6})\d*", lambda m: m.group(1).ljust(10, "0"), row[name])
        out.append(encoding.dump(row))
    return out


def snapshots(path):
    """The snapshot files by id."""
    found = {}
    for file in pathlib.Path(path, "snapshot").glob("snapshot-*"):
        found[int(file.name.removeprefix("snapshot-"))] = json.loads(file.read_text(encoding="utf-8"))
    return dict(sorted(found.items()))


def appends(path):
    """Snapshot ids to the number of commits of rows up to them: an APPEND that brought files counts, a COMPACT does not."""
    count, found = 0, {}
    for number, snapshot in snapshots(path).items():
        if snapshot["commitKind"] == "APPEND" and snapshot["deltaRecordCount"] != 0:
            count += 1
        found[number] = count
    return found


class InteropTest(unittest.TestCase):
    """Starts the programs once a class; each test has a warehouse of its own, removed when it passed."""

    results_file = None  # the class's name in the results folder

    @classmethod
    def setUpClass(cls):
        cls.headrace = peers.Headrace()
        cls.java = peers.java()
        cls.pypaimon = peers.pypaimon()
        cls.programs = {p.name: p for p in (cls.java, cls.pypaimon, cls.headrace)}
        cls.results = {}
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-interop-"))
        cls.failed = False

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs.values():
            program.close()
        if cls.failed:
            print(f"the tables are kept in {cls.folder}")
        else:
            shutil.rmtree(cls.folder)
        folder = peers.OUT / "results"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [encoding.dump(dict(zip(("feature", "writer", "reader", "what"), key), **value)) for key, value in cls.results.items()]
        name = cls.results_file or cls.__name__
        (folder / f"{name}.jsonl").write_text("".join(line + "\n" for line in sorted(lines)), encoding="utf-8")

    def warehouse(self, name):
        return self.folder / name

    # ---- notes for the page

    def note(self, feature, writer, reader, what, result, why=""):
        """One failure among many successes is a failure."""
        key = (feature, writer, reader, what)
        if key not in self.results or result == "fails":
            self.results[key] = {"result": result, **({"why": why} if why else {})}

    def cannot(self, feature, writer, reader, why):
        """A peer's own limit, known and not tried."""
        self.note(feature, writer, reader, "rows", "cannot", why)

    def check(self, feature, writer, reader, what, got, want, where):
        held = got == want
        self.note(feature, writer, reader, what, "holds" if held else "fails")
        if not held:
            type(self).failed = True
            self.fail(f"{feature}: written by {writer}, read by {reader}: {what} {where}: {difference(got, want)}")

    def attempt(self, feature, writer, reader, what, action):
        """A reader's error is a failure of the feature too."""
        try:
            return action()
        except peers.PeerError:
            type(self).failed = True
            self.note(feature, writer, reader, what, "fails")
            raise

    # ---- comparing

    def check_rows(self, feature, writer, table, path, states, readers=(JAVA, PYPAIMON, HEADRACE), only=None):
        """Every snapshot, or those of `only`, as every reader sees it, against the model's states."""
        for number, commits in appends(path).items():
            if only is not None and number not in only:
                continue
            for reader in readers:
                got = self.attempt(feature, writer, reader, "rows", lambda: self.programs[reader].scan(path=path, snapshot=number))
                want = states[commits]
                if reader == PYPAIMON:
                    got, want = to_micros(got, table), to_micros(want, table)
                self.check(feature, writer, reader, "rows", sorted(got), sorted(want), f"of snapshot {number} of {path}")

    def check_changes(self, feature, writer, table, path, changes, readers=(JAVA, PYPAIMON, HEADRACE), first=1):
        """The stream from a snapshot on, against the model's changes of each commit; and inside a commit, key by key, in order."""
        commits_at = appends(path)
        want = {}
        for number, commits in commits_at.items():
            if number >= first and commits != commits_at.get(number - 1, 0):
                want[number] = changes[commits]
        for reader in readers:
            lines = self.attempt(feature, writer, reader, "changes", lambda: self.programs[reader].changes(path=path, **{"from": first}))
            cut = (lambda line: to_micros([line], table)[0]) if reader == PYPAIMON else (lambda line: line)
            got = {}
            for line in lines:
                row = json.loads(line)
                kind, number = row.pop("_rowkind"), row.pop("_snapshot")
                got.setdefault(number, []).append(f"{kind} {cut(encoding.dump(row))}")
            expected = {n: [f"{l[:2]} {cut(l[3:])}" for l in lines] for n, lines in want.items()}
            self.check(feature, writer, reader, "changes", {n: sorted(v) for n, v in got.items()}, {n: sorted(v) for n, v in expected.items()},
                       f"from snapshot {first} of {path}")

    def check_columns(self, feature, writer, table, path, known, readers):
        """Two columns of the latest snapshot, in another order than the table's."""
        columns = [list(table.fields)[-1], list(table.fields)[0]]
        want = []
        for line in known.latest:
            row = json.loads(line)
            want.append(encoding.dump({name: row[name] for name in columns}))
        for reader in readers:
            got = self.attempt(feature, writer, reader, "rows", lambda: self.programs[reader].scan(path=path, columns=columns))
            if reader == PYPAIMON:
                part = model.Table(table.name, {name: table.fields[name] for name in columns}, table.primary_keys)
                got, want = to_micros(got, part), to_micros(want, part)
            self.check(feature, writer, reader, "rows", sorted(got), sorted(want), f"of columns {columns} of {path}")

    def check_gets(self, feature, writer, path, known):
        """Single keys by headrace: some with a row, some whose row is gone."""
        keys = [k for k in known.by_key() if "\\u0000" not in encoding.dump(k[0])]  # no argument of a program holds a zero byte
        chosen = [k for k in keys if k[1] is not None][:3] + [k for k in keys if k[1] is None][:2]
        got = [(key, self.attempt(feature, writer, HEADRACE, "get", lambda: self.headrace.get(path=path, key=key))) for key, _ in chosen]
        self.check(feature, writer, HEADRACE, "get", got, chosen, f"by key of {path}")

    # ---- writing

    def write(self, writer, table, path, batches):
        """Batches as commits, one a batch, by one writer's session."""
        rows = [{**row, "_commit": n} for n, batch in enumerate(batches, 1) for row in batch]
        if writer == HEADRACE:
            self.headrace.write(path, rows, keyed=table.keyed)
        else:
            self.programs[writer].write(path=path, rows=rows, user=f"{writer}-writer")


def difference(got, want):
    """The first few lines that one has and the other has not."""
    if isinstance(got, dict):
        for key in sorted(set(got) | set(want)):
            if got.get(key, []) != want.get(key, []):
                return f"at {key}: " + difference(got.get(key, []), want.get(key, []))
    got, want = list(got), list(want)
    if got and not isinstance(got[0], str):
        return f"{got} is not {want}"
    missing, extra = list(want), []
    for line in got:
        if line in missing:
            missing.remove(line)
        else:
            extra.append(line)
    if not missing and not extra:
        return "the same lines in another order"
    text = f"{len(got)} lines, expected {len(want)}"
    for title, lines in (("missing", missing), ("not expected", extra)):
        for line in lines[:3]:
            text += f"\n  {title}: {line[:600]}"
    if missing and extra:
        text += "\n  " + _columns(missing[0], extra)
    return text


def _columns(line, others):
    """Which columns differ from the most alike line."""
    try:
        row = json.loads(line.partition("{")[1] + line.partition("{")[2])
        rows = [json.loads(o.partition("{")[1] + o.partition("{")[2]) for o in others]
    except ValueError:
        return ""
    best = min(rows, key=lambda o: sum(row[k] != o.get(k) for k in row))
    return "columns that differ: " + ", ".join(f"{k}: {best.get(k)!r} for {row[k]!r}" for k in row if best.get(k) != row[k])[:1500]


def play(test, writer, scenario):
    """The steps by one writer, then every reader at every snapshot, and the streams."""
    feature, table = scenario.feature, scenario.table
    if writer in scenario.cannot_write:
        test.cannot(feature, writer, "", scenario.cannot_write[writer])
        test.skipTest(scenario.cannot_write[writer])
    program = test.programs[writer]
    known = model.Model(table)
    path = test.attempt(feature, writer, writer, "rows", lambda: program.create(warehouse=test.warehouse(writer), **table.definition()))["path"]
    for step, argument in scenario.steps:
        if step == "write":
            for batch in argument:
                known.commit(batch)
            test.attempt(feature, writer, writer, "rows", lambda: test.write(writer, table, path, argument))
        else:
            before = len(snapshots(path))
            test.attempt(feature, writer, writer, "rows", lambda: program.compact(path=path, full=argument))
            if table.options.get("write-only") == "true":  # else the writer may have done it already
                test.assertGreater(len(snapshots(path)), before, f"{feature}: {writer} did not compact {path}")
    test.assertEqual(max(appends(path).values()), len(known.states) - 1, f"{feature}: commits that {writer} made in {path}")
    readers = [p for p in test.programs if p not in scenario.cannot_read]
    for reader, why in scenario.cannot_read.items():
        test.cannot(feature, writer, reader, why)
    test.check_rows(feature, writer, table, path, known.states, readers)
    test.check_columns(feature, writer, table, path, known, readers)
    if table.keyed:
        test.check_gets(feature, writer, path, known)
    if scenario.changes:
        test.check_changes(feature, writer, table, path, known.changes, readers)


class Turns:
    """One table that several programs write and compact in turn; after every step all readers are compared with the model."""

    def __init__(self, test, feature, table, creator, readers=(JAVA, PYPAIMON, HEADRACE)):
        self.test, self.feature, self.table, self.readers = test, feature, table, readers
        self.known = model.Model(table)
        self.told = []
        self.path = test.programs[creator].create(warehouse=test.warehouse("turns"), **table.definition())["path"]
        self._commits = {}

    def write(self, writer, batch):
        self.told.append(f"{writer} wrote {len(batch)} rows")
        self.known.commit(batch)
        if writer == HEADRACE:
            self.test.headrace.write(self.path, batch, keyed=self.table.keyed)
        else:
            self.test.programs[writer].write(path=self.path, rows=batch, user=f"{writer}-writer")
        self._compare(writer)

    def compact(self, writer, full):
        self.told.append(f"{writer} compacted{' all' if full else ''}")
        self.test.programs[writer].compact(path=self.path, full=full)
        self._compare(writer)

    def _compare(self, writer):
        found = appends(self.path)
        self.test.assertEqual(max(found.values()), len(self.known.states) - 1, f"{self.feature}: {self.path}: commits after {self._story()}")
        last = max(found)
        for reader in self.readers:
            got = self.test.programs[reader].scan(path=self.path)
            want = self.known.latest
            if reader == PYPAIMON:
                got, want = to_micros(got, self.table), to_micros(want, self.table)
            self.test.check(self.feature, "in turn", reader, "rows", sorted(got), sorted(want),
                            f"of {self.path} at snapshot {last} after {self._story()}")

    def finish(self, streams=(JAVA, HEADRACE)):
        """All snapshots once more, now that later steps have come, and the streams."""
        self.test.check_rows(self.feature, "in turn", self.table, self.path, self.known.states, self.readers)
        self.test.check_changes(self.feature, "in turn", self.table, self.path, self.known.changes, streams)

    def _story(self):
        return "; ".join(self.told)
