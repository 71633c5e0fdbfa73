"""headrace sync against a real PostgreSQL server: copies, changes exactly once under kill -9, schema changes, what goes wrong."""

import collections
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from program_case import PROGRAM, ProgramCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "services"))
from postgres import Postgres  # noqa: E402


class SyncCase(ProgramCase):
    databases = 0
    @classmethod
    def setUpClass(cls):
        cls.server = Postgres()
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.__enter__()

    def setUp(self):
        super().setUp()
        SyncCase.databases += 1
        self.database = f"d{SyncCase.databases}"
        self.server.sql(f"CREATE DATABASE {self.database}", database="postgres")
        self.processes = []
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def sql(self, text):
        return self.server.sql(text, database=self.database)

    def command(self, *options, tables="public.*", every="50ms"):
        return ["sync", self.server.uri(database=self.database), "--tables", tables, "--database", "shop", "--commit-every", every, *options]

    def once(self, *options, status=0, **keywords):
        return self.run_program(*self.command("--once", *options, **keywords), status=status).stderr

    def start(self, *options, **keywords):
        log = open(self.folder / f"sync-{len(self.processes)}.log", "w+")
        process = subprocess.Popen([PROGRAM, "--warehouse", str(self.warehouse), *self.command(*options, **keywords)],
                                   stderr=log, stdout=log, cwd=self.folder)
        process.log = pathlib.Path(log.name)
        log.close()
        self.processes.append(process)
        return process

    def stop(self, process, status=0):
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        self.assertEqual(process.returncode, status, process.log.read_text())
        return process.log.read_text()

    def wait_for(self, what, process=None, seconds=90):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what():
                return
            if process is not None and process.poll() is not None:
                self.fail("sync ended: " + process.log.read_text())
            time.sleep(0.05)
        self.fail("did not come to pass" + (": " + process.log.read_text() if process else ""))

    def source_rows(self, table):
        return sorted((json.loads(line) for line in self.sql(f"SELECT row_to_json(t) FROM {table} t")), key=json.dumps)

    def table_rows(self, table):
        return sorted(self.rows("read", f"shop.{table}"), key=json.dumps)

    def assert_equal_tables(self, *tables):
        for table in tables:
            self.assertEqual(self.table_rows(table), self.source_rows(table), table)

    def slot(self):
        return self.sql("SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND NOT temporary")[0]


class Sync(SyncCase):
    def test_copies_then_follows_every_kind_of_change(self):
        self.sql("""CREATE TABLE customers (id bigint PRIMARY KEY, name text NOT NULL, plan varchar(10));
                    INSERT INTO customers SELECT g, 'name ' || g, 'trial' FROM generate_series(1, 1000) g;
                    CREATE TABLE "Order Lines" (order_id int, line int, sku text, PRIMARY KEY (line, order_id));
                    INSERT INTO "Order Lines" VALUES (1, 1, 'pen'), (1, 2, E'tab\\tnew\\nline \\\\N');
                    CREATE TABLE empty_one (id int PRIMARY KEY);""")
        said = self.once()
        self.assertIn("made publication", said)
        self.assertIn("public.customers copied: 1000 rows", said)
        self.assertIn("changelog-producer=lookup because old rows are not sent whole", said)
        self.assert_equal_tables("customers", "empty_one")
        self.assertEqual(self.table_rows("Order Lines"), self.source_rows('"Order Lines"'))
        self.sql("""BEGIN; UPDATE customers SET plan = 'pro' WHERE id <= 10; DELETE FROM customers WHERE id = 11;
                    INSERT INTO "Order Lines" VALUES (2, 1, 'ink'); COMMIT;
                    BEGIN; INSERT INTO customers VALUES (5000, 'never', 'x'); ROLLBACK;
                    UPDATE customers SET id = 2000 WHERE id = 12;
                    UPDATE "Order Lines" SET line = 7 WHERE sku = 'pen';""")
        said = self.once()
        self.assertIn("transactions followed", said)
        self.assert_equal_tables("customers")
        self.assertEqual(self.table_rows("Order Lines"), self.source_rows('"Order Lines"'))
        # Nothing new: nothing is written.
        before = self.rows("show", "snapshots", "shop.customers")
        self.once()
        self.once()
        self.assertLessEqual(len(self.rows("show", "snapshots", "shop.customers")), len(before) + 2)

    def test_pgbench_under_kill_9_lands_each_change_exactly_once(self):
        self.sql("""CREATE TABLE audit (seq bigserial PRIMARY KEY, tab text, op text, old_row text, new_row text);
                    CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int, filler text);
                    CREATE TABLE tellers (tid int PRIMARY KEY, bid int, tbalance int);
                    CREATE TABLE history (tid int, bid int, aid int, delta int, n bigserial);
                    ALTER TABLE accounts REPLICA IDENTITY FULL; ALTER TABLE tellers REPLICA IDENTITY FULL;
                    ALTER TABLE history REPLICA IDENTITY FULL;
                    INSERT INTO accounts SELECT g, g % 3, 0, repeat('x', 84) FROM generate_series(1, 200) g;
                    INSERT INTO tellers SELECT g, g % 3, 0 FROM generate_series(1, 10) g;
                    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                      INSERT INTO audit (tab, op, old_row, new_row) VALUES (TG_TABLE_NAME, TG_OP, row_to_json(OLD)::text, row_to_json(NEW)::text);
                      RETURN NULL; END $$;
                    CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION note();
                    CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON tellers FOR EACH ROW EXECUTE FUNCTION note();""")
        script = self.write("bench.sql", """\\set aid random(1, 200)
\\set tid random(1, 10)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
INSERT INTO history (tid, bid, aid, delta) VALUES (:tid, 0, :aid, :delta);
DELETE FROM accounts WHERE aid = :aid AND :delta % 7 = 0;
INSERT INTO accounts VALUES (:aid, 1, :delta, 'again') ON CONFLICT DO NOTHING;
END;
""")
        self.once(tables="public.accounts,public.tellers,public.history")
        copied = {table: self.rows("show", "snapshots", f"shop.{table}")[-1]["snapshot"] for table in ("accounts", "tellers")}
        dice = random.Random(8821)
        bench = self.server.pgbench("-n", "-f", script, "-c", "3", "-t", "400", "-R", "120", database=self.database)
        self.processes.append(bench)
        kills = 0
        while bench.poll() is None:
            process = self.start(tables="public.accounts,public.tellers,public.history")
            time.sleep(dice.uniform(0.05, 1.2))
            process.kill()
            process.wait()
            kills += 1
        self.assertEqual(bench.returncode, 0)
        self.assertGreater(kills, 5)
        self.once(tables="public.accounts,public.tellers,public.history")
        self.assert_equal_tables("accounts", "tellers", "history")
        for table in ("accounts", "tellers"):
            self.assert_changes_are_the_audited_ones(table, copied[table])
            self.run_program("check", f"shop.{table}", "--changelog")
        self.assertIn("sync-headrace_", json.dumps(self.rows("jobs", "shop.accounts")))

    def assert_changes_are_the_audited_ones(self, table, copied):
        """The changelog after the copy holds each committed row change once, with the row before and after it."""
        changes = self.rows("changes", f"shop.{table}", "--from-snapshot", str(copied + 1))
        found = collections.Counter((change["_rowkind"], json.dumps({k: v for k, v in change.items() if k[0] != "_"}, sort_keys=True))
                                    for change in changes)
        expected = collections.Counter()
        for line in self.sql(f"SELECT op, coalesce(old_row, ''), coalesce(new_row, '') FROM audit WHERE tab = '{table}'"):
            op, old, new = line.split("\t")
            old, new = (json.dumps(json.loads(text), sort_keys=True) if text else "" for text in (old, new))
            for one in {"INSERT": [("+I", new)], "UPDATE": [("-U", old), ("+U", new)], "DELETE": [("-D", old)]}[op]:
                expected[one] += 1
        self.assertEqual(found - expected, collections.Counter(), f"{table}: changes that nobody made")
        self.assertEqual(expected - found, collections.Counter(), f"{table}: changes that are missing")

    def test_large_values_that_did_not_change_stay(self):
        self.sql("""CREATE TABLE documents (id int PRIMARY KEY, title text, body text);
                    ALTER TABLE documents ALTER body SET STORAGE EXTERNAL;
                    CREATE TABLE full_documents (LIKE documents INCLUDING ALL);
                    ALTER TABLE full_documents REPLICA IDENTITY FULL;
                    INSERT INTO documents SELECT g, 't', repeat('body ' || g, 3000) FROM generate_series(1, 3) g;
                    INSERT INTO full_documents SELECT * FROM documents;""")
        self.once()
        self.sql("""UPDATE documents SET title = 'new' WHERE id = 1; UPDATE full_documents SET title = 'new' WHERE id = 1;
                    BEGIN; INSERT INTO documents VALUES (4, 'four', repeat('4', 9000)); UPDATE documents SET title = 'vier' WHERE id = 4; COMMIT;
                    UPDATE documents SET id = 20 WHERE id = 2; UPDATE full_documents SET id = 20 WHERE id = 2;
                    UPDATE documents SET title = 'after' WHERE id = 20;""")
        self.once()
        self.assert_equal_tables("documents", "full_documents")

    def test_truncate_deletes_what_is_there_also_in_mid_transaction(self):
        self.sql("""CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE u (id int PRIMARY KEY);
                    INSERT INTO t SELECT g, 'x' FROM generate_series(1, 50) g; INSERT INTO u VALUES (1);""")
        self.once()
        self.sql("""INSERT INTO t VALUES (100, 'before');
                    BEGIN; INSERT INTO t VALUES (101, 'gone'); UPDATE t SET v = 'gone' WHERE id = 1; TRUNCATE t, u; INSERT INTO t VALUES (1, 'one');
                    TRUNCATE t; INSERT INTO t VALUES (2, 'two'); INSERT INTO u VALUES (7); COMMIT;
                    INSERT INTO t VALUES (3, 'three');""")
        self.once()
        self.assert_equal_tables("t", "u")

    def test_types_come_as_they_are(self):
        self.sql("""CREATE TYPE mood AS ENUM ('calm', 'glad'); CREATE DOMAIN price AS numeric(12, 2);
                    CREATE TABLE types (id int PRIMARY KEY, s smallint, b bigint, n numeric(10, 2), f real, d double precision, ok boolean,
                      c char(5), v varchar(40), t text, day date, ts timestamp, tz timestamptz, u uuid, j jsonb, m mood, p price,
                      tags text[], numbers int[], g int GENERATED ALWAYS AS (id * 2) STORED, bytes bytea, free numeric, i interval, tm time);
                    CREATE TABLE later (LIKE types INCLUDING ALL);
                    INSERT INTO types (id, s, b, n, f, d, ok, c, v, t, day, ts, tz, u, j, m, p, tags, numbers, bytes, free, i, tm) VALUES
                      (1, -32768, 9223372036854775807, -99999999.99, 1.5, 2.718281828459045, true, 'ab', 'é', E'a\\tb\\nc\\\\', '2024-02-29',
                       '2024-05-17 13:14:15.123456', '2024-05-17 13:14:15.5+02', '6f1d2c3b-0a1b-4c5d-8e9f-001122334455', '{"a": [1, null]}',
                       'glad', 1.50, '{a,"b,c",NULL}', '{1,2}', '\\x00ff', 1e30, '1 year 2 days', '13:14:15.123456'), (2);
                    INSERT INTO types (id) VALUES (3);""".replace(", (2);", ";"))
        self.once()
        self.sql("INSERT INTO later (id, s, b, n, f, d, ok, c, v, t, day, ts, tz, u, j, m, p, tags, numbers, bytes, free, i, tm) "
                 "SELECT id, s, b, n, f, d, ok, c, v, t, day, ts, tz, u, j, m, p, tags, numbers, bytes, free, i, tm FROM types")
        self.once()
        copied, logged = self.table_rows("types"), self.table_rows("later")
        self.assertEqual(copied, logged)  # the same by copy and by log
        row = next(row for row in copied if row["id"] == 1)
        self.assertNotIn("g", row)
        self.assertEqual((row["b"], row["c"], row["t"], row["day"], row["m"], row["tags"], row["numbers"], row["bytes"]),
                         (9223372036854775807, "ab   ", "a\tb\nc\\", "2024-02-29", "glad", ["a", "b,c", None], [1, 2], "00ff"))
        self.assertEqual((row["free"], row["i"], row["tm"]), ("1" + "0" * 30, "1 year 2 days", "13:14:15.123456"))
        self.assertIn("2024-05-17T11:14:15.5", row["tz"])
        self.assertTrue(all(value is None for name, value in next(row for row in copied if row["id"] == 3).items() if name != "id"))

    def test_columns_added_and_widened_in_mid_stream_follow(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, n int, name varchar(5)); CREATE TABLE u (id int PRIMARY KEY); INSERT INTO t VALUES (1, 1, 'a')")
        process = self.start()
        self.wait_for(lambda: "public.u copied" in process.log.read_text(), process)
        self.sql("""INSERT INTO t VALUES (2, 2, 'b');
                    ALTER TABLE t ADD COLUMN extra text DEFAULT 'd';
                    INSERT INTO t VALUES (3, 3, 'c', 'e');
                    BEGIN; UPDATE t SET extra = 'x' WHERE id = 2; ALTER TABLE t ALTER n TYPE bigint, ALTER name TYPE varchar(50); INSERT INTO t VALUES (4, 4000000000, 'longer than five');
                    INSERT INTO u VALUES (1); COMMIT;
                    ALTER TABLE t DROP COLUMN name; UPDATE t SET n = 5 WHERE id = 1;""")
        self.wait_for(lambda: {"id": 1, "n": 5, "name": None, "extra": "d"} in self.table_rows("t"), process)
        said = self.stop(process)
        self.assertIn("column extra STRING added", said)
        self.assertIn("column n is BIGINT now", said)
        rows = {row["id"]: row for row in self.table_rows("t")}
        self.assertEqual(rows[3], {"id": 3, "n": 3, "name": "c", "extra": "e"})
        self.assertEqual(rows[4], {"id": 4, "n": 4000000000, "name": "longer than five", "extra": "d"})
        self.assert_equal_tables("u")

    def test_columns_added_and_widened_while_nothing_ran_are_found(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)")
        self.once()
        self.sql("ALTER TABLE t ADD note text DEFAULT 'old', ALTER n TYPE bigint")
        self.sql("INSERT INTO t VALUES (2, 5000000000, 'new'); UPDATE t SET note = 'seen' WHERE id = 1")
        self.once()
        self.assert_equal_tables("t")

    def test_a_transaction_over_two_tables_is_one_commit_of_each(self):
        self.sql("CREATE TABLE a (id int PRIMARY KEY, n int); CREATE TABLE b (id int PRIMARY KEY, n int); INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 1)")
        self.once()
        before = {table: len(self.appended(table)) for table in "ab"}
        self.sql("BEGIN; INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (2, 2); UPDATE a SET n = 3; DELETE FROM b WHERE id = 1; INSERT INTO a VALUES (3, 3); COMMIT")
        self.once()
        self.assertEqual({table: len(self.appended(table)) - before[table] for table in "ab"}, {"a": 1, "b": 1})
        self.assert_equal_tables("a", "b")

    def appended(self, table):
        return [row for row in self.rows("show", "snapshots", f"shop.{table}") if row["kind"] == "APPEND"]

    def test_a_table_that_is_added_later_is_taken_up_at_the_next_start(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)")
        self.once()
        self.sql("CREATE TABLE added (id int PRIMARY KEY, v int); INSERT INTO added SELECT g, g FROM generate_series(1, 100) g; INSERT INTO t VALUES (2, 2)")
        said = self.once()
        self.assertIn("public.added copied: 100 rows", said)
        self.sql("UPDATE added SET v = -v WHERE id < 5; UPDATE t SET v = 9")
        self.once()
        self.assert_equal_tables("t", "added")

    def test_a_slot_that_is_gone_means_a_new_one_and_just_the_difference(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, v text); ALTER TABLE t REPLICA IDENTITY FULL; INSERT INTO t SELECT g, 'v' FROM generate_series(1, 100) g")
        self.once()
        last = self.rows("show", "snapshots", "shop.t")[-1]["snapshot"]
        self.sql(f"SELECT pg_drop_replication_slot('{self.slot()}')")
        self.sql("UPDATE t SET v = 'changed' WHERE id = 5; DELETE FROM t WHERE id = 6; INSERT INTO t VALUES (200, 'new')")
        said = self.once()
        self.assertIn("is gone, and with it the changes since", said)
        self.assertIn("compared: 1 rows added, 1 changed, 1 deleted", said)
        self.assert_equal_tables("t")
        changes = self.rows("changes", "shop.t", "--from-snapshot", str(last + 1))
        self.assertEqual(sorted(change["_rowkind"] for change in changes), ["+I", "+U", "-D", "-U"])
        self.sql("DELETE FROM t WHERE id = 7")
        self.once()
        self.assert_equal_tables("t")

    def test_a_table_that_cannot_be_followed_is_set_aside_and_the_others_go_on(self):
        self.sql("""CREATE TABLE good (id int PRIMARY KEY); CREATE TABLE bad (id int PRIMARY KEY, d date);
                    INSERT INTO good VALUES (1); INSERT INTO bad VALUES (1, '2024-01-01');""")
        self.once()
        self.sql("""INSERT INTO bad VALUES (2, '2024-01-02');
                    BEGIN; INSERT INTO bad VALUES (3, '2024-01-03'); INSERT INTO good VALUES (2); INSERT INTO bad VALUES (4, 'infinity'); COMMIT;
                    INSERT INTO bad VALUES (5, '2024-01-05'); INSERT INTO good VALUES (3);""")
        said = self.once(status=3)
        self.assertIn("column d is infinity in a column of type DATE", said)
        self.assert_equal_tables("good")
        self.assertEqual([row["id"] for row in self.table_rows("bad")], [1, 2])  # up to the last transaction that is whole
        letters = [json.loads(line) for file in (self.folder / "headrace-dead-letters").iterdir() for line in file.read_text().splitlines()]
        self.assertEqual(len(letters), 3)
        self.sql("INSERT INTO bad VALUES (6, '2024-01-06'); INSERT INTO good VALUES (4)")
        self.once(status=3)
        self.assert_equal_tables("good")
        self.sql("DELETE FROM bad WHERE d = 'infinity'")
        self.once("--resync", "bad")
        self.assert_equal_tables("good", "bad")

    def test_what_cannot_work_is_said_with_what_to_do(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE keyless (v int)")
        self.assertIn("left out: public.keyless has no primary key", self.once())
        self.assertIn("REPLICA IDENTITY FULL to follow its inserts", self.once(status=1, tables="keyless"))
        self.assertIn("there is no table nothing", self.once(status=1, tables="nothing"))
        wrong = self.server.uri(user="nobody:geheim", database=self.database)
        said = self.run_program("sync", wrong, "--tables", "t", "--once", status=1).stderr
        self.assertIn('role "nobody" does not exist', said)
        self.assertNotIn("geheim", said)
        process = self.start()
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_replication_slots WHERE active AND database = current_database()") == ["1"], process)
        self.stop(process)
        self.run_program("create", "other.t", "--schema", "id INT", "--primary-key", "id")
        self.ingest_lines("other.t", [{"id": 99}])
        said = self.run_program("sync", self.server.uri(database=self.database), "--tables", "t", "--database", "other", "--once", status=1).stderr
        self.assertIn("--adopt", said)

    def test_a_server_that_restarts_is_followed_on(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY)")
        process = self.start()
        self.wait_for(lambda: "copied" in process.log.read_text(), process)
        self.sql("INSERT INTO t VALUES (1)")
        self.wait_for(lambda: self.table_rows("t") == [{"id": 1}], process)
        self.server.stop()  # waits until all that was sent is acknowledged
        self.server.start()
        self.sql("INSERT INTO t VALUES (2)")
        self.wait_for(lambda: self.table_rows("t") == [{"id": 1}, {"id": 2}], process)
        self.assertIn("trying again", self.stop(process))
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_replication_slots WHERE active AND database = current_database()") == ["0"])

    def test_a_kill_while_tables_are_copied_costs_no_row(self):
        self.sql("CREATE TABLE big (id int PRIMARY KEY, v text); INSERT INTO big SELECT g, repeat('v', 200) FROM generate_series(1, 60000) g; "
                 "CREATE TABLE small (id int PRIMARY KEY); INSERT INTO small VALUES (1)")
        for n in range(6):
            process = self.start()
            time.sleep(0.06 * (n + 1))
            process.kill()
            process.wait()
            self.sql(f"INSERT INTO big VALUES ({-n}, 'between'); DELETE FROM big WHERE id = {n + 1}; INSERT INTO small VALUES ({100 + n})")
        self.once()
        self.assert_equal_tables("big", "small")

    def test_a_slot_that_the_server_gave_up_is_made_anew(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT g, 'v' FROM generate_series(1, 20) g")
        self.once()
        slot = self.slot()
        self.server.sql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'; SELECT pg_reload_conf();", database="postgres")
        try:
            for _ in range(8):
                self.sql("SELECT pg_switch_wal(); CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 2000); DROP TABLE filler; "
                         "CHECKPOINT;")
                if self.sql(f"SELECT wal_status FROM pg_replication_slots WHERE slot_name = '{slot}'") == ["lost"]:
                    break
            self.assertEqual(self.sql(f"SELECT wal_status FROM pg_replication_slots WHERE slot_name = '{slot}'"), ["lost"])
        finally:
            self.server.sql("ALTER SYSTEM RESET max_slot_wal_keep_size; SELECT pg_reload_conf();", database="postgres")
        self.sql("DELETE FROM t WHERE id = 3; UPDATE t SET v = 'w' WHERE id = 4")
        said = self.once()
        self.assertIn("no longer has the log", said)
        self.assertIn("0 rows added, 1 changed, 1 deleted", said)
        self.assert_equal_tables("t")

    def test_an_ordinary_user_with_replication_is_enough(self):
        self.sql(f"""DROP ROLE IF EXISTS app; CREATE ROLE app LOGIN REPLICATION; GRANT CREATE ON DATABASE {self.database} TO app;
                     CREATE TABLE t (id int PRIMARY KEY); ALTER TABLE t OWNER TO app; INSERT INTO t VALUES (1);""")
        uri = self.server.uri(user="app", database=self.database)
        self.run_program("sync", uri, "--tables", "t", "--database", "shop", "--once")
        self.sql("INSERT INTO t VALUES (2)")
        self.run_program("sync", uri, "--tables", "t", "--database", "shop", "--once")
        self.assert_equal_tables("t")
        self.sql(f"DROP PUBLICATION {self.slot()}; DROP TABLE t; REVOKE ALL ON DATABASE {self.database} FROM app; DROP ROLE app")

    def test_partitions_are_rows_of_their_table_and_a_publication_that_is_there_is_used(self):
        self.sql("""CREATE TABLE logs (day date, id int, v text, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
                    CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
                    CREATE TABLE logs_2 PARTITION OF logs FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
                    CREATE TABLE other (id int PRIMARY KEY);
                    INSERT INTO logs VALUES ('2024-01-05', 1, 'a'), ('2024-02-05', 2, 'b');
                    CREATE PUBLICATION mine FOR TABLE logs WITH (publish_via_partition_root = true);""")
        said = self.once("--publication", "mine", "--slot", "my_slot_" + self.database)
        self.assertIn("left out: public.other is not published by mine", said)
        self.sql("UPDATE logs SET day = '2024-02-07' WHERE id = 1; INSERT INTO logs VALUES ('2024-01-09', 3, 'c')")
        self.once("--publication", "mine", "--slot", "my_slot_" + self.database)
        self.assert_equal_tables("logs")

    def test_a_table_without_a_key_takes_inserts_and_is_set_aside_at_the_first_update(self):
        self.sql("CREATE TABLE events (v int); ALTER TABLE events REPLICA IDENTITY FULL; INSERT INTO events VALUES (1), (1)")
        self.once()
        self.sql("INSERT INTO events VALUES (2)")
        self.once()
        self.assert_equal_tables("events")
        self.sql("UPDATE events SET v = 3 WHERE v = 2")
        self.assertIn("has no primary key to find it by", self.once(status=3))

    def test_a_table_left_out_for_a_while_is_compared_when_it_comes_back(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int PRIMARY KEY); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
        self.once()
        self.assertIn("no longer followed: public.u", self.once(tables="t"))
        self.sql("INSERT INTO u VALUES (2); DELETE FROM u WHERE id = 1; INSERT INTO t VALUES (2)")
        self.once(tables="t")
        self.assertIn("public.u compared: 1 rows added, 0 changed, 1 deleted", self.once())
        self.assert_equal_tables("t", "u")

    def test_a_connection_that_the_server_ends_is_made_again(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
        process = self.start()
        self.wait_for(lambda: "copied" in process.log.read_text(), process)
        for n in range(8):
            self.sql(f"INSERT INTO t SELECT g, 'v' FROM generate_series({n * 1000}, {n * 1000 + 999}) g; UPDATE t SET v = 'w{n}' WHERE id % 7 = {n % 7};")
            self.sql("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active AND database = current_database()")
            self.sql(f"DELETE FROM t WHERE id = {n * 1000 + 5}")
            time.sleep(0.1)
        self.wait_for(lambda: len(self.table_rows("t")) == 7992, process)
        self.assertIn("trying again", self.stop(process))
        self.once()
        self.assert_equal_tables("t")

    def test_a_slot_that_goes_while_it_is_followed_is_made_anew_at_once(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g")
        process = self.start()
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_replication_slots WHERE active AND database = current_database()") == ["1"], process)
        slot = self.slot()
        self.sql(f"""DO $$ BEGIN LOOP
                       PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{slot}' AND active;
                       BEGIN PERFORM pg_drop_replication_slot('{slot}'); EXIT; EXCEPTION WHEN object_in_use THEN NULL; END;
                     END LOOP; END $$;
                     UPDATE t SET v = 1 WHERE id = 7; DELETE FROM t WHERE id = 8;""")
        self.wait_for(lambda: self.table_rows("t") == self.source_rows("t"), process)
        self.sql("INSERT INTO t VALUES (500, 5)")
        self.wait_for(lambda: self.table_rows("t") == self.source_rows("t"), process)
        self.assertIn("is gone, and with it the changes since", self.stop(process))

    def test_one_large_transaction_and_a_server_that_crashes(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY, v int)")
        process = self.start()
        self.wait_for(lambda: "copied" in process.log.read_text(), process)
        self.sql("BEGIN; INSERT INTO t SELECT g, 0 FROM generate_series(1, 100000) g; UPDATE t SET v = 1 WHERE id % 2 = 0; COMMIT")
        self.server.stop(signal.SIGQUIT)
        self.server.start()
        self.sql("DELETE FROM t WHERE id > 99990")
        self.wait_for(lambda: len(self.table_rows("t")) == 99990, process)
        self.stop(process)
        self.assert_equal_tables("t")

    def test_a_first_copy_that_fails_leaves_the_others_alone(self):
        self.sql("""CREATE TABLE bad (id int PRIMARY KEY, d date); INSERT INTO bad SELECT g, '2024-01-01' FROM generate_series(1, 5000) g;
                    INSERT INTO bad VALUES (6000, 'infinity'); INSERT INTO bad SELECT g, '2024-01-01' FROM generate_series(7000, 30000) g;
                    CREATE TABLE good (id int PRIMARY KEY); INSERT INTO good VALUES (1);""")
        said = self.once(status=3)
        self.assertIn("the row id=6000, column d is infinity", said)
        self.assert_equal_tables("good")
        self.assertEqual(self.table_rows("bad"), [])
        self.sql("DELETE FROM bad WHERE id = 6000 OR id > 7010; INSERT INTO good VALUES (2)")
        self.once()
        self.assert_equal_tables("bad", "good")

    def test_another_key_or_another_table_of_the_name_is_not_mixed_with_the_old(self):
        self.sql("""CREATE TABLE k (id int PRIMARY KEY, v int NOT NULL); CREATE TABLE f (id int PRIMARY KEY, v int NOT NULL);
                    ALTER TABLE f REPLICA IDENTITY FULL; CREATE TABLE d (id int PRIMARY KEY); INSERT INTO d VALUES (1);""")
        process = self.start()
        self.wait_for(lambda: "public.k copied" in process.log.read_text(), process)
        self.sql("""ALTER TABLE k DROP CONSTRAINT k_pkey, ADD PRIMARY KEY (id, v); INSERT INTO k VALUES (1, 1), (1, 2);
                    ALTER TABLE f DROP CONSTRAINT f_pkey, ADD PRIMARY KEY (id, v); INSERT INTO f VALUES (1, 1), (1, 2);
                    DROP TABLE d; CREATE TABLE d (id int PRIMARY KEY); INSERT INTO d VALUES (2);""")
        self.wait_for(lambda: process.log.read_text().count("tells its rows apart by column v too") == 2, process)
        self.stop(process, status=3)
        self.assertEqual((self.table_rows("k"), self.table_rows("f")), ([], []))
        said = self.once(status=3)
        self.assertIn("left out: public.k", said)
        self.assertIn("public.d compared: 1 rows added, 0 changed, 1 deleted", said)
        self.assert_equal_tables("d")

    def test_only_one_sync_runs_on_a_slot_and_the_first_is_not_disturbed(self):
        self.sql("CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int PRIMARY KEY)")
        first = self.start(tables="public.t")
        active = "SELECT count(*) FROM pg_replication_slots WHERE active AND database = current_database()"
        self.wait_for(lambda: self.sql(active) == ["1"], first)
        second = self.start(tables="public.u")
        second.wait(timeout=60)  # it waits a little, for one that was killed may hold the slot for a moment
        self.assertIn("is in use by the server's process", second.log.read_text())
        self.sql("INSERT INTO t VALUES (1)")
        self.wait_for(lambda: self.table_rows("t") == [{"id": 1}], first)
        self.stop(first)

    def test_status_goes_out_in_time_while_the_server_waits_a_second_only(self):
        self.server.sql("ALTER SYSTEM SET wal_sender_timeout = '1s'; SELECT pg_reload_conf();", database="postgres")
        try:
            self.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
            process = self.start(every="1000000")
            self.wait_for(lambda: "copied" in process.log.read_text(), process)
            self.sql("INSERT INTO t SELECT g, repeat('v', 100) FROM generate_series(1, 200000) g")
            time.sleep(4)
            self.assertNotIn("trying again", self.stop(process))
            self.assertEqual(len(self.table_rows("t")), 200000)
        finally:
            self.server.sql("ALTER SYSTEM RESET wal_sender_timeout; SELECT pg_reload_conf();", database="postgres")
