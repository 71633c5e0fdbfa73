"""Changes as Debezium events: what each becomes, the way back into a table, and consumers that go on where they were."""

import json
import os
import signal
import subprocess
import time

from program_case import PROGRAM, ProgramCase

EVENTS = ("--format", "debezium-json")


class ChangeEvents(ProgramCase):
    def events(self, table, *arguments):
        return [json.loads(line) for line in self.run_program("changes", table, *EVENTS, *arguments).stdout.splitlines()]

    def change(self, table, *lines):
        self.ingest_lines(table, lines, "--kind-column", "op", name=f"{time.monotonic_ns()}.jsonl")

    def consumer(self, table, name):
        path = self.warehouse / "shop.db" / table.split(".")[1] / "consumer" / f"consumer-{name}"
        return json.loads(path.read_text())["nextSnapshot"] if path.exists() else None

    def test_each_change_is_one_event(self):
        table = self.customers()
        one, two = {"id": 1, "name": "a", "plan": None}, {"id": 1, "name": "b", "plan": "é\n"}
        self.change(table, {"op": "+I", **one})
        self.change(table, {"op": "-U", **one}, {"op": "+U", **two})
        self.change(table, {"op": "-D", **two})
        source = {"connector": "headrace", "db": "shop", "table": "customers"}
        self.assertEqual(self.events(table), [
            {"before": None, "after": one, "source": {**source, "snapshot": 1}, "op": "c"},
            {"before": one, "after": two, "source": {**source, "snapshot": 2}, "op": "u"},
            {"before": two, "after": None, "source": {**source, "snapshot": 3}, "op": "d"}])

    def test_halves_without_their_other_half(self):
        table = self.customers()
        row = {"id": 1, "name": "a", "plan": None}
        other = {"id": 2, "name": "b", "plan": None}
        self.change(table, {"op": "+I", **row})
        self.change(table, {"op": "-U", **row})
        self.change(table, {"op": "+U", **other})
        self.assertEqual([(e["op"], e["before"], e["after"]) for e in self.events(table)],
                         [("c", None, row), ("d", row, None), ("u", None, other)])

    def test_pairs_are_joined_over_the_ends_of_batches(self):
        table = self.customers()
        self.change(table, *({"op": "+I", "id": i, "name": "old"} for i in range(20001)))
        self.change(table, *(line for i in range(20001) for line in ({"op": "-U", "id": i, "name": "old"}, {"op": "+U", "id": i, "name": "new"})))
        events = self.events(table, "--from-snapshot", "2")
        self.assertEqual(len(events), 20001)
        for event in events:
            self.assertEqual((event["op"], event["before"]["name"], event["after"]["name"]), ("u", "old", "new"))
            self.assertEqual(event["before"]["id"], event["after"]["id"])

    def test_columns_must_hold_the_key(self):
        table = self.customers()
        failed = self.run_program("changes", table, *EVENTS, "--columns", "name", status=1)
        self.assertIn("the column id of its primary key is not among the columns chosen", failed.stderr)

    def test_every_type_comes_back_as_it_was(self):
        columns = ("id INT, b BOOLEAN, t TINYINT, s SMALLINT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(38, 10), c CHAR(3), v VARCHAR(9), x BYTES, "
                   "day DATE, clock TIME(3), ts TIMESTAMP(9), ltz TIMESTAMP_LTZ(3), a ARRAY<INT>, m MAP<STRING, INT>, r ROW<p INT, q STRING>")
        for name in ("shop.a", "shop.b"):
            self.run_program("create", name, "--schema", columns, "--primary-key", "id", "--option", "bucket=1", "--option", "changelog-producer=input")
        full = {"id": -2147483648, "b": True, "t": -128, "s": 32767, "l": -9223372036854775808, "f": 1.5, "d": 1e-300, "n": "-1234567890123456789012345678.0123456789",
                "c": "äöü", "v": "\u0000\"\\", "x": "00ff", "day": "0001-01-01", "clock": "23:59:59.999", "ts": "1677-09-21T00:12:44.000000001",
                "ltz": "2024-02-29T12:00:00.123Z", "a": [1, None, 3], "m": [["k", 1], ["z", None]], "r": {"p": None, "q": "x"}}
        empty = {"id": 1, **{key: None for key in full if key != "id"}}
        self.change("shop.a", {"op": "+I", **full}, {"op": "+I", **empty}, {"op": "+I", **full, "id": 2, "d": "NaN", "f": "-Infinity"})
        self.run_program("changes", "shop.a", *EVENTS, "--output", "events.jsonl")
        self.run_program("ingest", "shop.b", "events.jsonl", *EVENTS, "--decimals", "string", "--binary", "hex")
        self.assertEqual(self.rows("read", "shop.a"), self.rows("read", "shop.b"))
        self.assertEqual(self.rows("changes", "shop.a"), self.rows("changes", "shop.b"))

    def test_a_consumer_goes_on_behind_what_is_out(self):
        table = self.customers()
        self.change(table, {"op": "+I", "id": 1, "name": "a"})
        self.assertEqual(len(self.events(table, "--consumer", "mirror")), 1)
        self.assertEqual(self.consumer(table, "mirror"), 2)
        self.assertEqual(self.events(table, "--consumer", "mirror"), [])
        self.change(table, {"op": "+I", "id": 2, "name": "b"})
        self.assertEqual([e["after"]["id"] for e in self.events(table, "--consumer", "mirror")], [2])
        self.assertEqual(len(self.events(table, "--consumer", "other", "--from", "full")), 2)
        self.assertEqual(self.consumer(table, "other"), 3)
        self.assertEqual(len(self.events(table)), 2)
        self.assertIn("is at snapshot 3", self.run_program("changes", table, "--consumer", "mirror").stderr)

    def test_a_consumer_keeps_what_it_has_not_read(self):
        table = self.customers("--option", "snapshot.num-retained.min=1", "--option", "snapshot.num-retained.max=1")
        self.change(table, {"op": "+I", "id": 0, "name": "a"})
        self.events(table, "--consumer", "mirror")
        for i in range(1, 6):
            self.change(table, {"op": "+I", "id": i, "name": "a"})
        self.run_program("expire", table)
        self.assertEqual([e["after"]["id"] for e in self.events(table, "--consumer", "mirror")], [1, 2, 3, 4, 5])

    def test_a_killed_follower_of_a_file_loses_nothing_and_leaves_whole_lines(self):
        table = self.customers()
        output = self.folder / "events.jsonl"
        command = [PROGRAM, "--warehouse", str(self.warehouse), "changes", table, *EVENTS, "--follow", "--consumer", "mirror", "--output", str(output)]
        written = 0
        for round_ in range(4):
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=self.folder)
            for _ in range(3):
                self.change(table, *({"op": "+I", "id": written + i, "name": "n"} for i in range(50)))
                written += 50
            time.sleep(0.1 * round_)
            process.send_signal(signal.SIGKILL)
            process.wait()
            with open(output, "ab") as file:
                file.write(b'{"before":null,"af')  # as a kill in the middle of a write leaves it
        self.run_program("changes", table, *EVENTS, "--consumer", "mirror", "--output", output)
        self.assertGreater(self.consumer(table, "mirror"), 12)
        ids = [json.loads(line)["after"]["id"] for line in output.read_text().splitlines()]
        self.assertEqual(sorted(set(ids)), list(range(written)))

    def test_what_cannot_be_is_refused(self):
        table = self.customers()
        for arguments, reason in ((("--consumer", "a/b"), "is not a job name"),
                                  (("--consumer", "headrace-x"), "those of jobs and lookups"),
                                  (("--consumer", "m", "--limit", "3"), "leave out"),
                                  (("--consumer", "m", "--output", "x.parquet"), "can be gone on with"),
                                  (("--to", "kafka://h:1/t", "--output", "x"), "one place"),
                                  (("--to", "kafka://h:1/t", "--format", "csv"), "a topic gets"),
                                  (("--to", "kafka://h:1"), "names no topic"),
                                  (("--tombstones",), "belong to a topic"),
                                  (("--to", "kafka://h:1/t", "--kafka-option", "acks=0"), "cannot be chosen")):
            with self.subTest(arguments=arguments):
                done = subprocess.run([PROGRAM, "--warehouse", str(self.warehouse), "changes", table, *arguments], capture_output=True, text=True,
                                      cwd=self.folder, env=dict(os.environ), timeout=60)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(reason, done.stderr)
