"""Ingest as a user runs it: resuming, repeating, bad records, standard input."""

import json
import os
import unittest

from program_case import FIXTURES, ProgramCase

CDC = FIXTURES / "cdc"


class Ingest(ProgramCase):
    def test_the_captured_customers_make_their_table(self):
        done = self.run_program("ingest", "shop.customers", CDC / "customers.debezium-schema.jsonl", "--create", "--keys",
                                CDC / "customers.debezium-schema.keys.jsonl")
        self.assertIn("created table shop.customers", done.stderr)
        expected = [json.loads(line)["row"] for line in (CDC / "customers.expected.jsonl").read_text().splitlines()]
        rows = self.rows("read", "shop.customers", "--ordered", "--columns", ",".join(expected[0]))
        self.assertCountEqual(rows, expected)

    def test_a_finished_input_is_not_ingested_twice_by_accident(self):
        table = self.customers()
        line = [{"id": 1, "name": "Ana", "plan": "trial"}]
        self.ingest_lines(table, line)
        done = self.ingest_lines(table, line)
        self.assertIn("already ingested at snapshot 1", done.stderr)
        self.assertEqual(len(self.rows("show", "snapshots", table)), 1)
        self.ingest_lines(table, line, "--again")
        self.assertEqual(len(self.rows("show", "snapshots", table)), 2)

    def test_a_renamed_table_knows_what_it_holds(self):
        self.run_program("create", "d.log", "--schema", "id INT", "--option", "bucket=-1")
        path = self.write("log.jsonl", '{"id":1}\n{"id":2}\n')
        self.run_program("ingest", "d.log", path)
        self.run_program("rename", "d.log", "d.log2")
        self.assertIn("already ingested", self.run_program("ingest", "d.log2", path).stderr)
        self.assertEqual(len(self.rows("read", "d.log2")), 2)

    def test_a_run_that_fails_at_its_first_line_leaves_no_snapshot(self):
        table = self.customers()
        path = self.write("bad.jsonl", "not json\n")
        for _ in range(2):
            self.run_program("ingest", table, path, "--format", "json", status=1)
        self.assertEqual(self.rows("show", "snapshots", table), [])

    def test_an_input_that_grew_goes_on_where_it_ended(self):
        table = self.customers()
        lines = [{"id": n, "name": "x", "plan": None} for n in range(5)]
        self.ingest_lines(table, lines[:2])
        self.ingest_lines(table, lines)
        self.assertEqual(len(self.rows("changes", table)), 5)

    def test_a_bad_record_stops_with_its_place_and_what_came_before_is_kept(self):
        table = self.customers()
        path = self.write("bad.jsonl", '{"id":1,"name":"a","plan":"b"}\n{"id":"x","name":"a","plan":"b"}\n{"id":3,"name":"a","plan":"b"}\n')
        done = self.run_program("ingest", table, path, "--format", "json", status=1)
        self.assertIn("bad.jsonl", done.stderr)
        self.assertIn("line 2", done.stderr)
        self.assertIn("id", done.stderr)
        self.assertEqual([r["id"] for r in self.rows("read", table)], [1])

    def test_a_finished_job_commits_nothing_more_and_counts_its_own_run(self):
        for day in (1, 2):
            self.write(f"orders-{day}.csv", f"id,v\n{day},a\n")
        command = ("ingest", "shop.orders", str(self.folder / "orders-*.csv"))
        self.run_program(*command, "--create", "--primary-key", "id")
        snapshots = self.rows("show", "snapshots", "shop.orders")
        for _ in range(2):
            done = self.run_program(*command, "--commit-every", "file")
            self.assertIn("already ingested", done.stderr)
            self.assertNotIn("records read", done.stderr)
        self.assertEqual(self.rows("show", "snapshots", "shop.orders"), snapshots)
        self.write("orders-3.csv", "id,v\n3,a\n")
        done = self.run_program(*command, "--commit-every", "file")
        self.assertIn("2 records read = 1 applied + 1 ignored + 0 dead letters; 1 row in 2 commits", done.stderr)
        self.assertIn("with the earlier runs of the job: 6 records, 0 dead letters", done.stderr)

    def test_a_spill_folder_that_cannot_be_used_is_told_before_a_table_is_made(self):
        path = self.write("in.csv", "id,v\n1,a\n")
        for folder, told in ((self.folder / "absent", "No such file"), (path, "is a file")):
            done = self.run_program("--spill-dir", folder, "ingest", "shop.t", path, "--create", "--primary-key", "id", status=1)
            self.assertIn(str(folder), done.stderr)
            self.assertIn(told, done.stderr)
            self.assertEqual(self.rows("show", "tables"), [])
        self.run_program("--spill-dir", self.folder, "ingest", "shop.t", path, "--create", "--primary-key", "id")

    def test_dead_letters_keep_the_bytes_and_the_count_adds_up(self):
        table = self.customers()
        path = self.write("bad.jsonl", b'{"id":1,"name":"a","plan":"b"}\n{"id":2,"name":"\xff"}\nnot json\n\n{"id":3,"name":"a","plan":"b"}')
        letters = self.folder / "letters.jsonl"
        done = self.run_program("ingest", table, path, "--format", "json", "--on-bad-record", f"dead-letter={letters}", status=3)
        self.assertIn("5 records read = 2 applied + 1 ignored + 2 dead letters", done.stderr)
        self.assertEqual(len(letters.read_bytes().splitlines()), 2)
        self.assertEqual({r["id"] for r in self.rows("read", table)}, {1, 3})

    def test_standard_input_resumes_under_a_job_name(self):
        table = self.customers()
        text = '{"id":1,"name":"a","plan":"b"}\n'
        self.run_program("ingest", table, "-", "--format", "json", "--job", "nightly", stdin=text)
        done = self.run_program("ingest", table, "-", "--format", "json", "--job", "nightly", stdin=text)
        self.assertIn("already ingested", done.stderr)
        jobs = self.rows("jobs", table)
        self.assertEqual([(j["job"], j["lines"]) for j in jobs], [("nightly", 1)])
        self.run_program("jobs", table, "--drop", "nightly")
        self.assertEqual(self.rows("jobs", table), [])
        self.run_program("jobs", table, "--drop", "nightly", status=1)

    def test_the_text_of_test_decoding_is_known_by_itself_and_its_records_are_whole(self):
        text = (CDC / "customers.test-decoding.txt").read_text()
        command = ["ingest", "shop.customers", "-", "--create", "--primary-key", "customer_id", "--job", "nightly"]
        done = self.run_program(*command, stdin=text)
        self.assertIn("transaction boundary", done.stderr)
        expected, untouched = ([json.loads(line)["row"] for line in (CDC / f"customers.{end}.jsonl").read_text().splitlines()]
                               for end in ("expected", "initial"))
        rows = self.rows("read", "shop.customers")
        self.assertTrue(all(row in expected for row in rows), rows)
        self.assertTrue(all(row in rows or row in untouched for row in expected), rows)
        self.assertIn("already ingested", self.run_program(*command, stdin=text).stderr)

        # A bad record of two lines, between two good ones: kept byte for byte.
        head = "table public.customers: INSERT: customer_id[bigint]:"
        bad = head + "1 name[text]:'two\nlines' born[date]:'never'"
        letters = self.folder / "letters.jsonl"
        path = self.write("more.txt", f"{head}2 name[text]:'a\nb'\n{bad}\n{head}3 name[text]:'it''s'\n")
        done = self.run_program("ingest", "shop.customers", path, "--on-bad-record", f"dead-letter={letters}", "--on-schema-change", "refuse", status=3)
        self.assertIn("3 records read = 2 applied + 0 ignored + 1 dead letter", done.stderr)
        letter = json.loads(letters.read_text())
        self.assertEqual((letter["line"], letter["field"], letter["record"]), (2, "born", bad))
        names = {row["customer_id"]: row["name"] for row in self.rows("read", "shop.customers")}
        self.assertEqual((names[2], names[3]), ("a\nb", "it's"))

    def test_counts_of_time_are_read_in_the_units_of_the_connectors_setting(self):
        second = 1715951655
        units = {"adaptive": (10**3, 10**3, 10**6), "adaptive_time_microseconds": (10**6, 10**3, 10**6), "microseconds": (10**6,) * 3,
                 "connect": (10**3,) * 3, "nanoseconds": (10**9,) * 3}
        for number, (mode, (clock, short, long)) in enumerate(units.items()):
            table = f"shop.t{number}"
            self.run_program("create", table, "--schema", "id INT, at TIME(0), ts TIMESTAMP(3), tu TIMESTAMP(6)", "--primary-key", "id", "--option", "bucket=1")
            row = {"id": 1, "at": 47655 * clock, "ts": second * short, "tu": second * long}
            self.run_program("ingest", table, self.write(f"{mode}.jsonl", json.dumps({"before": None, "after": row, "op": "c"}) + "\n"), "--times", mode)
            found = self.rows("read", table)[0]
            self.assertEqual((found["at"][:8], found["ts"][:19], found["tu"][:19]), ("13:14:15", "2024-05-17T13:14:15", "2024-05-17T13:14:15"), mode)

    def test_a_pipe_is_taken_as_standard_input_alone(self):
        table = self.customers()
        pipe = self.folder / "pipe.jsonl"
        os.mkfifo(pipe)
        for form in ("json", "parquet"):
            failed = self.run_program("ingest", table, pipe, "--format", form, status=1)
            self.assertIn("give it as standard input", failed.stderr)
        self.assertEqual(self.rows("show", "snapshots", table), [])

    def test_deletes_need_a_key(self):
        self.run_program("create", "d.log", "--schema", "id INT, v STRING", "--option", "bucket=-1")
        path = self.write("d.jsonl", '{"op":"-D","id":1,"v":"x"}\n')
        self.run_program("ingest", "d.log", path, "--format", "json", "--kind-column", "op", status=1)

    def test_options_that_are_not_built_are_refused_by_name(self):
        for option in ("file.format=orc", "commit.callbacks=a.Class", "primary-key.nullable=true"):
            done = self.run_program("create", "d.t", "--schema", "id INT, v INT", "--primary-key", "id", "--option", option, status=1)
            self.assertIn(option.split("=")[0], done.stderr)
        self.assertEqual(self.rows("show", "tables"), [])


if __name__ == "__main__":
    unittest.main()
