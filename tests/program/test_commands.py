"""Each command once, as the README and --help show them."""

import json
import re
import unittest

from program_case import FIXTURES, ProgramCase

ROWS = [{"op": "+I", "id": 1, "name": "Ana", "plan": "trial"}, {"op": "+I", "id": 2, "name": "Bo", "plan": "pro"},
        {"op": "+I", "id": 3, "name": "Chloé", "plan": None}]


class Commands(ProgramCase):
    def filled(self):
        table = self.customers()
        self.ingest_lines(table, ROWS, "--kind-column", "op", name="one.jsonl")
        self.ingest_lines(table, [{"op": "-U", "id": 1, "name": "Ana", "plan": "trial"}, {"op": "+U", "id": 1, "name": "Ana", "plan": "pro"},
                                  {"op": "-D", "id": 2, "name": "Bo", "plan": "pro"}], "--kind-column", "op", name="two.jsonl")
        return table

    def test_create_tells_what_it_decided(self):
        done = self.run_program("create", "shop.t", "--schema", "id INT, v STRING", "--primary-key", "id")
        self.assertIn("bucket=-1", done.stderr)
        options = {r["option"]: r["value"] for r in self.rows("show", "options", "shop.t")}
        self.assertEqual(options["bucket"], "-1")

    def test_rescale_writes_a_table_anew_with_other_buckets(self):
        table = self.filled()
        rows = sorted(self.rows("read", table), key=lambda r: r["id"])
        done = self.run_program("rescale", table, "--buckets", "5")
        self.assertIn("bucket=5 from now on", done.stderr)
        self.assertEqual(sorted(self.rows("read", table), key=lambda r: r["id"]), rows)
        self.assertEqual({r["option"]: r["value"] for r in self.rows("show", "options", table)}["bucket"], "5")
        self.assertEqual({r["total_buckets"] for r in self.rows("show", "files", table)}, {5})
        self.assertIn("nothing to write anew", self.run_program("rescale", table, "--buckets", "5").stderr)
        self.assertIn("no partition column", self.run_program("rescale", table, "--buckets", "3", "--partition", "x=1", status=1).stderr)
        self.assertEqual(self.run_program("check", table, "--data", "--all").returncode, 0)

    def test_postponed_rows_are_seen_once_compacted(self):
        self.run_program("create", "shop.p", "--schema", "id INT, v STRING", "--primary-key", "id", "--option", "bucket=-2")
        self.ingest_lines("shop.p", [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
        self.assertEqual(self.rows("read", "shop.p"), [])
        self.run_program("compact", "shop.p")
        self.assertEqual(sorted(r["id"] for r in self.rows("read", "shop.p")), [1, 2])
        self.assertEqual(self.run_program("check", "shop.p", "--data", "--all").returncode, 0)

    def test_a_table_without_a_number_of_buckets_makes_them_as_keys_come(self):
        self.run_program("create", "shop.d", "--schema", "id INT, v STRING", "--primary-key", "id",
                         "--option", "dynamic-bucket.target-row-num=2")
        for run in ("a", "b"):
            self.ingest_lines("shop.d", [{"id": i, "v": run} for i in range(5)], name=run + ".jsonl")
        self.assertEqual(sorted((r["id"], r["v"]) for r in self.rows("read", "shop.d")), [(i, "b") for i in range(5)])
        self.assertEqual({r["bucket"] for r in self.rows("show", "files", "shop.d")}, {0, 1, 2})
        self.assertEqual([r["v"] for r in self.rows("get", "shop.d", "id=3")], ["b"])
        self.assertIn("no number of buckets", self.run_program("rescale", "shop.d", "--buckets", "3", status=1).stderr)
        self.assertEqual(self.run_program("check", "shop.d", "--data", "--all").returncode, 0)

    def test_create_tells_of_an_option_that_paimon_does_not_know(self):
        done = self.run_program("create", "shop.t", "--schema", "id INT", "--option", "bucket=-1", "--option", "no.such=1")
        self.assertIn("no.such", done.stderr)

    def test_create_names_the_option_that_was_meant(self):
        done = self.run_program("create", "shop.t", "--schema", "id INT", "--option", "bucket=-1", "--option", "changelog-producr=input")
        self.assertIn("kept as it is (did you mean changelog-producer?)", done.stderr)
        self.assertIn("changelog-producr", {r["option"] for r in self.rows("show", "options", "shop.t")})

    def test_a_table_that_is_not_there_is_told_with_the_one_that_was_meant(self):
        table = self.customers()
        for command in (("read", "shop.custmers"), ("changes", "shop.custmers"), ("compact", "shop.custmers")):
            told = self.run_program(*command, status=1).stderr
            self.assertIn("there is no table shop.custmers", told)
            self.assertIn("did you mean shop.customers?", told)
        for name in ("shop.xyz", "nowhere.customers"):
            self.assertIn("'headrace show tables' lists", self.run_program("read", name, status=1).stderr)
        self.assertEqual(self.rows("read", table), [])

    def test_create_takes_pasted_ddl(self):
        self.run_program("create", "--ddl", "CREATE TABLE shop.o (id BIGINT, day DATE, v DECIMAL(10,2), PRIMARY KEY (id, day) NOT ENFORCED) "
                         "PARTITIONED BY (day) WITH ('bucket' = '1')")
        schema = self.rows("show", "schemas", "shop.o")[0]
        self.assertEqual(schema["columns"], "id BIGINT NOT NULL, day DATE NOT NULL, v DECIMAL(10, 2)")
        self.assertEqual((schema["primary_key"], schema["partition_by"]), ("id,day", "day"))

    def test_create_twice_fails_and_if_not_exists_does_not(self):
        self.customers()
        self.assertIn("already exists", self.run_program("create", "shop.customers", "--schema", "id INT", status=1).stderr)
        self.run_program("create", "shop.customers", "--schema", "id INT", "--if-not-exists")

    def test_read_shows_the_current_rows_and_any_snapshot(self):
        table = self.filled()
        self.assertEqual(sorted(self.rows("read", table), key=lambda r: r["id"]),
                         [{"id": 1, "name": "Ana", "plan": "pro"}, {"id": 3, "name": "Chloé", "plan": None}])
        self.assertEqual({r["id"] for r in self.rows("read", table, "--snapshot", 1)}, {1, 2, 3})
        self.assertEqual(len(self.rows("read", table, "--limit", 1)), 1)
        self.assertEqual(self.rows("read", table, "--limit", 0), [])
        self.assertEqual({tuple(r) for r in self.rows("read", table, "--columns", "plan,id")}, {("plan", "id")})

    def test_a_snapshot_of_the_past_is_read_in_the_shape_it_had(self):
        fixture = FIXTURES / "schema-evolution"
        lines = (fixture / "expected" / "keyed.scan-1.jsonl").read_text().splitlines()
        rows = self.rows("read", fixture / "warehouse" / "peer.db" / "keyed", "--snapshot", 1)
        self.assertCountEqual(rows, [json.loads(line) for line in lines])

    def test_read_of_an_absent_column_names_those_that_exist(self):
        table = self.filled()
        self.assertIn("id, name, plan", self.run_program("read", table, "--columns", "nope", status=1).stderr)

    def test_get_finds_a_key_and_says_when_there_is_none(self):
        table = self.filled()
        self.assertEqual(self.rows("get", table, "id=1"), [{"id": 1, "name": "Ana", "plan": "pro"}])
        self.assertEqual(self.rows("get", table, "id=2", "--snapshot", 1)[0]["name"], "Bo")
        self.assertIn("no row", self.run_program("get", table, "id=2", status=1).stderr)
        self.assertIn("not part of its primary key", self.run_program("get", table, "name=Ana", status=1).stderr)
        self.assertIn("BIGINT", self.run_program("get", table, "id=x", status=1).stderr)

    def test_changes_come_in_order_and_tell_where_to_resume(self):
        table = self.filled()
        changes = self.rows("changes", table)
        first, second = [c for c in changes if c["_snapshot"] == 1], [c for c in changes if c["_snapshot"] == 2]
        self.assertEqual({(c["_rowkind"], c["id"]) for c in first}, {("+I", 1), ("+I", 2), ("+I", 3)})
        self.assertEqual([(c["_rowkind"], c["plan"]) for c in second if c["id"] == 1], [("-U", "trial"), ("+U", "pro")])
        self.assertIn(("-D", 2), {(c["_rowkind"], c["id"]) for c in second})
        done = self.run_program("changes", table, "--from-snapshot", 2)
        self.assertIn("--from-snapshot 3", done.stderr)
        self.assertEqual(self.rows("changes", table, "--from", "latest"), [])
        self.assertEqual(self.rows("changes", table, "--to-snapshot", 1), first)

    def test_changes_from_full_begin_with_the_state(self):
        table = self.filled()
        self.assertEqual({(c["_rowkind"], c["id"], c["_snapshot"]) for c in self.rows("changes", table, "--from", "full")},
                         {("+I", 1, 2), ("+I", 3, 2)})

    def test_show_and_inspect_tell_what_a_table_is_made_of(self):
        table = self.filled()
        self.assertEqual(self.rows("show", "tables"), [{"database": "shop", "table": "customers"}])
        self.assertEqual([r["kind"] for r in self.rows("show", "snapshots", table)], ["APPEND", "APPEND"])
        files = self.rows("show", "files", table)
        self.assertEqual(sum(f["rows"] for f in files), 5)
        self.assertTrue(all(f["level"] == 0 for f in files))
        self.assertEqual({r["list"] for r in self.rows("show", "manifests", table)}, {"base", "delta", "changelog"})
        self.assertEqual(len(self.rows("show", "jobs", table)), 2)
        drawing = self.run_program("inspect", table).stdout
        self.assertIn("bucket", drawing)
        self.assertIn("L0", drawing)
        self.assertIn("changelog", drawing)

    def test_rows_that_vectors_mark_are_not_counted_as_live(self):
        self.run_program("create", "d.v", "--schema", "id INT, v STRING", "--primary-key", "id", "--option", "bucket=1",
                         "--option", "deletion-vectors.enabled=true")
        self.ingest_lines("d.v", [{"id": i, "v": "a"} for i in range(10)])
        self.run_program("compact", "d.v", "--full")
        self.assertEqual(self.rows("show", "snapshots", "d.v")[-1]["live_at_most"], 10)
        self.ingest_lines("d.v", [{"id": i, "v": "b"} for i in range(3)], name="more.jsonl")
        files = self.rows("show", "files", "d.v")
        self.assertEqual(sum(f["rows"] for f in files), 13)
        self.assertEqual(sum(f["marked_rows"] for f in files), 3)
        self.assertEqual(sum(f["live_at_most"] for f in files), 10)
        newest = self.rows("show", "snapshots", "d.v")[-1]
        self.assertEqual((newest["total_rows"], newest["live_at_most"]), (13, 10))
        self.assertIn("10 rows (3 marked deleted: at most 7 live)", self.run_program("inspect", "d.v").stdout)
        self.assertEqual(len(self.rows("read", "d.v")), 10)

    def test_inspect_draws_rows_that_wait_for_their_buckets(self):
        self.run_program("create", "d.w", "--schema", "id STRING", "--primary-key", "id", "--option", "bucket=-2")
        self.ingest_lines("d.w", [{"id": "z"}, {"id": "a"}])
        self.assertIn("2 rows", self.run_program("inspect", "d.w").stdout)

    def test_a_limit_counts_live_rows(self):
        for fixture, name in (("dv-pk-bitmap64", "t_none"), ("dv-append", "t64"), ("index-bitmap", "pk")):
            table = FIXTURES / fixture / "warehouse" / "peer.db" / name
            with self.subTest(fixture=fixture, table=name):
                every = self.rows("read", table)
                for limit in (1, 2, 7, len(every) - 1, len(every), len(every) + 5):
                    some = self.rows("read", table, "--limit", limit)
                    self.assertEqual(len(some), min(limit, len(every)))
                    for row in some:
                        self.assertIn(row, every)

    def test_partitions_are_shown_as_their_values(self):
        self.run_program("create", "d.p", "--schema", "id INT, day DATE", "--primary-key", "id,day", "--partition-by", "day", "--option", "bucket=1")
        self.ingest_lines("d.p", [{"id": 1, "day": "2026-11-27"}])
        self.assertEqual([f["partition"] for f in self.rows("show", "files", "d.p")], ["day=2026-11-27"])
        self.assertIn("day=2026-11-27, bucket 0", self.run_program("inspect", "d.p").stdout)

    def test_compact_merges_runs_and_keeps_rows_and_changes(self):
        table = self.filled()
        rows, changes = self.rows("read", table), self.rows("changes", table)
        self.assertIn("files became", self.run_program("compact", table, "--full").stderr)
        self.assertEqual({f["level"] for f in self.rows("show", "files", table)}, {5})
        self.assertCountEqual(self.rows("read", table), rows)
        self.assertEqual(self.rows("changes", table), changes)
        self.assertIn("nothing to compact", self.run_program("compact", table, "--full").stderr)

    def test_rename_and_drop(self):
        table = self.filled()
        self.run_program("rename", table, "shop.clients")
        self.assertEqual(len(self.rows("read", "shop.clients")), 2)
        self.run_program("read", table, status=1)
        self.run_program("drop", "shop.clients")
        self.assertEqual(self.rows("show", "tables"), [])

    def test_a_table_is_also_named_by_its_folder(self):
        self.filled()
        folder = self.warehouse / "shop.db" / "customers"
        self.assertEqual(len(self.rows("read", folder, warehouse=False)), 2)

    def test_the_default_warehouse_is_told_once_and_the_environment_names_another(self):
        done = self.run_program("show", "tables", warehouse=False)
        self.assertIn("warehouse: ./warehouse", done.stderr)
        self.customers()
        done = self.run_program("show", "tables", warehouse=False, environment={"HEADRACE_WAREHOUSE": str(self.warehouse)})
        self.assertNotIn("warehouse:", done.stderr)
        self.assertIn("customers", done.stdout)

    def test_wrong_usage_has_its_own_status(self):
        self.run_program(status=2)
        self.run_program("nope", status=2)
        self.run_program("read", status=2)
        self.run_program("read", "a.b", "--nope", status=2)
        self.run_program("get", "a.b", "id", status=2)
        self.run_program("--memory", "abc", "show", "tables", status=2)
        self.run_program("create", "a.b", "--schema", "id INT", "--option", "x", status=2)
        self.assertIn("cannot be read", self.run_program("create", "--ddl", "@" + str(self.folder), status=1).stderr)

    def test_wrong_usage_is_told_with_what_may_have_been_meant(self):
        told = self.run_program(status=2).stderr
        for command in ("ingest", "changes", "check"):
            self.assertIn(f"\n  {command} ", told)
        self.assertIn("no command 'reed'; did you mean read?", self.run_program("reed", "a.b", status=2).stderr)
        self.assertNotIn("did you mean", self.run_program("xyzzy", status=2).stderr)
        self.assertIn("no command 'reed'", self.run_program("help", "reed", status=2).stderr)
        told = self.run_program("read", "a.b", "--fromat", "csv", status=2).stderr
        self.assertIn("read has no option --fromat; did you mean --format?", told)
        self.assertIn("'c.d'", self.run_program("read", "a.b", "c.d", status=2).stderr)
        self.assertIn("-1 is less than 0", self.run_program("read", "a.b", "--limit", "-1", status=2).stderr)
        self.assertIn("not a whole number", self.run_program("read", "a.b", "--snapshot", "x", status=2).stderr)

    def test_help_fits_a_terminal(self):
        self.assertEqual(self.run_program("help").stdout, self.run_program("--help").stdout)
        self.assertEqual(self.run_program("help", "read").stdout, self.run_program("read", "--help").stdout)
        commands = re.findall(r"^  (\w+) ", self.run_program(status=2).stderr, re.MULTILINE)
        self.assertGreater(len(commands), 10)
        for command in commands:
            text = self.run_program(command, "--help").stdout
            for line in text.splitlines():
                self.assertLessEqual(len(line), 120 if "headrace " in line else 80, line)

    def test_every_command_has_help_with_an_example(self):
        listing = self.run_program("--help").stdout
        for command in ("create", "alter", "ingest", "read", "get", "changes", "show", "inspect", "compact", "rescale", "drop", "rename", "jobs", "run", "demo",
                        "completion"):
            self.assertIn(command, listing)
            self.assertIn("Example", self.run_program(command, "--help").stdout, command)
        self.assertRegex(self.run_program("--version").stdout, r"^headrace \d+\.\d+\.\d+")

    def test_completion_scripts_name_every_command(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.run_program("completion", shell).stdout
            self.assertIn("ingest", script)
            self.assertIn("on-bad-record", script)

    def test_names_do_not_leave_the_warehouse(self):
        for name in ("..db.t", "a.b.c", "shop.", ".t", "shop"):
            self.run_program("create", name, "--schema", "id INT", status=1)

    def test_quiet_says_nothing_but_errors(self):
        table = self.filled()
        self.assertEqual(self.run_program("--quiet", "changes", table).stderr, "")
        self.assertIn("not found", self.run_program("--quiet", "read", "shop.none", status=1).stderr)


class Demo(ProgramCase):
    def test_the_demo_shows_four_changes_in_order(self):
        text = self.run_program("demo", warehouse=False).stdout
        tail = text[text.index("What happened"):text.index("What the difference")]
        changes = [json.loads(line) for line in tail.splitlines() if line.startswith("    {")]
        self.assertEqual([(c["_rowkind"], c["plan"], c["address"]) for c in changes],
                         [("+I", "trial", "Av. Paulista 1000"), ("-U", "trial", "Av. Paulista 1000"), ("+U", "pro", "Av. Paulista 1000"),
                          ("-U", "pro", "Av. Paulista 1000"), ("+U", "pro", "Rua das Acácias 120"), ("-D", "pro", "Rua das Acácias 120")])

    def test_the_readme_shows_what_the_demo_prints(self):
        readme = (FIXTURES.parent.parent / "README.md").read_text()
        shown = readme.split("<!-- demo -->\n```\n")[1].split("```")[0]
        self.assertEqual(shown, self.run_program("demo", warehouse=False).stdout)

    def test_the_readme_shows_what_the_demo_of_a_chain_prints(self):
        readme = (FIXTURES.parent.parent / "README.md").read_text()
        shown = readme.split("<!-- demo chain -->\n```\n")[1].split("```")[0]
        self.assertEqual(shown, self.run_program("demo", "--chain", "--keep", self.folder / "kept", warehouse=False).stdout)
        self.assertEqual(self.rows("read", self.folder / "kept/warehouse/shop.db/revenue", warehouse=False),
                         [{"plan": "pro", "day": "2026-05-17", "orders": 2, "amount": "70.00"}])
        for table in ("enriched", "revenue"):
            self.run_program("check", self.folder / f"kept/warehouse/shop.db/{table}", "--changelog", warehouse=False)

    def test_the_demo_can_leave_its_table(self):
        self.run_program("demo", "--keep", self.folder / "kept", warehouse=False)
        self.assertEqual(self.rows("read", self.folder / "kept/warehouse/shop.db/customers", warehouse=False), [])
        self.run_program("demo", "--keep", self.folder / "kept", warehouse=False, status=1)


if __name__ == "__main__":
    unittest.main()
