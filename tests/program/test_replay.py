"""What Java Paimon was given for a fixture, given to us with the same options: the same rows and, where the producer fixes them, the same
changes, commit by commit."""

import itertools
import json

from program_case import FIXTURES, ProgramCase


def grouped(changes):
    """The changes of each snapshot that brought any, in the order of snapshots; rows of different buckets come in any order."""
    of_snapshot = lambda change: change["_snapshot"]
    groups = []
    for _, group in itertools.groupby(sorted(changes, key=of_snapshot), key=of_snapshot):
        lines = ({k: v for k, v in change.items() if k != "_snapshot"} for change in group)
        groups.append(sorted(json.dumps(line, sort_keys=True) for line in lines))
    return groups


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Replay(ProgramCase):
    def replay(self, fixture, name, **more):
        folder = FIXTURES / fixture
        schema = json.loads((folder / "warehouse" / "peer.db" / name / "schema" / "schema-0").read_text())
        columns = ", ".join(f"{field['name']} {field['type']}" for field in schema["fields"])
        options = [argument for key, value in (schema["options"] | more).items() for argument in ("--option", f"{key}={value}")]
        table = f"replayed.{name}"
        self.run_program("create", table, "--schema", columns, "--primary-key", ",".join(schema["primaryKeys"]), *options)
        commits = itertools.groupby(json_lines(folder / "input" / f"{name}.jsonl"), key=lambda row: row["_commit"])
        files = []
        for number, rows in commits:
            lines = [json.dumps({k: v for k, v in row.items() if k != "_commit"}, ensure_ascii=False) for row in rows]
            files.append(self.write(f"{name}-{number:03}.jsonl", "\n".join(lines) + "\n"))
        self.run_program("ingest", table, *files, "--format", "json", "--kind-column", "_rowkind", "--commit-every", "file")
        expected = folder / "expected"
        last = max(expected.glob(f"{name}.scan-*.jsonl"), key=lambda path: int(path.stem.rsplit("-", 1)[1]))
        key = lambda row: json.dumps(row, sort_keys=True)
        self.assertEqual(sorted(self.rows("read", table), key=key), sorted(json_lines(last), key=key), fixture)
        if not (expected / f"{name}.changes-from-1.jsonl").exists():
            return
        got = grouped(self.rows("changes", table, "--from", "earliest"))
        wanted = grouped(json_lines(expected / f"{name}.changes-from-1.jsonl"))
        self.assertEqual(len(got), len(wanted), fixture)
        for number, (ours, theirs) in enumerate(zip(got, wanted), start=1):
            self.assertEqual(ours, theirs, f"{fixture}, snapshot {number} of those with changes")
        self.run_program("check", table, "--data")

    def test_lookup_changelogs_are_those_of_java(self):
        self.replay("changelog-lookup-random", "events")

    def test_tables_with_deletion_vectors_end_in_the_rows_of_java(self):
        for fixture in ("dv-pk", "dv-pk-bitmap64"):
            for name in ("t_lookup", "t_none"):
                with self.subTest(f"{fixture} {name}"):
                    self.warehouse = self.folder / fixture / name
                    self.replay(fixture, name)

    def test_full_compaction_changelogs_are_those_of_java(self):
        # The program that wrote the fixture compacted after every second commit by itself.
        self.replay("changelog-full-compaction-random", "events", **{"full-compaction.delta-commits": 2})

    def test_input_changelogs_are_those_of_java(self):
        self.replay("changelog-input-random", "events")

    def test_the_customer_of_every_producer(self):
        for producer in ("none", "input", "lookup", "full-compaction"):
            with self.subTest(producer):
                self.warehouse = self.folder / producer
                self.replay(f"customer-8821-{producer}", "customers")
