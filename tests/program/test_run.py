"""`headrace run`: how a run starts, refuses, holds its sources and waits."""

import subprocess
import time
import unittest

from program_case import PROGRAM
from run_case import PIPELINE, RunCase


class Start(RunCase):
    def test_a_changed_statement_is_refused_until_it_is_computed_anew(self):
        self.filled_chain()
        self.run_once()
        self.pipeline(PIPELINE.replace("coalesce(c.plan, 'unknown')", "coalesce(c.plan, 'none')"))
        told = self.run_once(status=1).stderr
        self.assertIn("table shop.enriched holds what another statement made under the job chain.shop.enriched; say --rebuild", told)
        told = self.run_once("--rebuild").stderr
        self.assertIn("shop.enriched: 2 rows in 1 commit", told)
        self.assertEqual(self.query("SELECT plan, day FROM shop.revenue ORDER BY 1"),
                         [{"plan": "none", "day": "2026-05-02"}, {"plan": "pro", "day": "2026-05-01"}])
        self.assertIn("shop.enriched: 0 rows in 0 commits", self.run_once().stderr)
        self.pipeline(PIPELINE)
        self.run_once(status=1)

    def test_what_was_done_to_a_target_by_hand_is_undone_by_rebuild(self):
        self.filled_chain()
        self.run_once()
        self.sql("UPDATE shop.revenue SET orders = 77; INSERT INTO shop.revenue VALUES ('extra', DATE '2026-05-01', 1, 1, 1)")
        self.run_once("--rebuild")
        self.assertEqual(self.query("SELECT plan, orders, amount FROM shop.revenue ORDER BY plan"),
                         [{"plan": "pro", "orders": 2, "amount": "15.00"}, {"plan": "unknown", "orders": 1, "amount": "7.00"}])
        self.run_program("check", "shop.revenue", "--changelog")

    def test_a_job_that_was_dropped_and_comes_back_writes_what_differs_alone(self):
        self.filled_chain()
        self.run_once()
        self.run_program("jobs", "shop.enriched", "--drop", "chain.shop.enriched")
        self.assertEqual(list((self.warehouse / "shop.db/orders/consumer").iterdir()), [])
        self.sql("UPDATE shop.orders SET amount = 6 WHERE order_id = 2; INSERT INTO shop.orders VALUES (4, 1, DATE '2026-05-01', 1)")
        self.assertIn("shop.enriched: 3 rows in 1 commit", self.run_once().stderr)
        self.assertEqual([row["_rowkind"] for row in self.rows("changes", "shop.enriched", "--from-snapshot", 2)], ["-U", "+U", "+I"])
        self.check_chain_now()

    def test_sources_wait_for_the_slowest_stage_and_an_expired_position_is_named(self):
        self.filled_chain()
        self.run_once()
        for n in range(10, 20):
            self.sql(f"INSERT INTO shop.orders VALUES ({n}, 2, DATE '2026-05-03', {n})")
        self.assertIn("consumer", self.run_program("expire", "shop.orders", "--retain-max", 1, "--retain-min", 1).stdout)
        self.run_once()
        self.assertEqual(self.query("SELECT orders FROM shop.revenue WHERE plan = 'trial'"), [{"orders": 10}])
        self.sql("DELETE FROM shop.orders WHERE order_id = 11; DELETE FROM shop.orders WHERE order_id = 12")
        for consumer in (self.warehouse / "shop.db/orders/consumer").iterdir():
            consumer.unlink()
        self.run_program("expire", "shop.orders", "--retain-max", 1, "--retain-min", 1)
        told = self.run_once(status=1).stderr
        self.assertIn("the position of the job chain.shop.enriched has expired; --rebuild computes shop.enriched anew", told)
        self.run_once("--rebuild")
        self.assertEqual(self.query("SELECT orders FROM shop.revenue WHERE plan = 'trial'"), [{"orders": 8}])
        self.run_program("check", "shop.enriched", "--changelog")

    def test_it_tells_how_and_runs_nothing(self):
        self.filled_chain()
        told = self.run_program("run", self.folder / "chain.sql", "--explain").stdout
        self.assertIn("INSERT INTO shop.enriched  (job chain.shop.enriched)", told)
        self.assertIn("shop.orders  by o.customer_id", told)
        self.assertIn("shop.customers  by c.customer_id", told)
        self.assertIn("INSERT INTO shop.revenue  (job chain.shop.revenue)", told)
        self.assertEqual(self.rows("show", "snapshots", "shop.enriched"), [])
        self.assertIn("(job mine.shop.enriched)", self.run_program("run", "-", "--explain", "--name", "mine", stdin=PIPELINE).stdout)

    def test_what_cannot_be_kept_true_is_refused_before_anything_runs(self):
        self.filled_chain()
        self.run_once()
        self.sql("CREATE TABLE shop.log (order_id BIGINT, amount DECIMAL(12, 2)); "
                 "CREATE TABLE shop.t (order_id BIGINT, plan STRING, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1'); "
                 "CREATE TABLE shop.sums (order_id BIGINT, amount DECIMAL(38, 2), n BIGINT, PRIMARY KEY (order_id) NOT ENFORCED) "
                 "WITH ('bucket' = '1', 'merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum'); "
                 "CREATE TABLE shop.whole (n BIGINT, one INT, PRIMARY KEY (one) NOT ENFORCED) WITH ('bucket' = '1')")
        for query, why in (
                ("t SELECT order_id, CAST(now() AS STRING) FROM orders", "now"),
                ("t SELECT order_id, CAST(random() AS STRING) FROM orders", "random"),
                ("t SELECT order_id, 'x' FROM orders WHERE customer_id IN (SELECT customer_id FROM customers)", "subquer"),
                ("t SELECT order_id, 'x' FROM (SELECT * FROM orders)", "make it a table of its own by another INSERT"),
                ("t WITH a AS (SELECT * FROM orders) SELECT order_id, 'x' FROM a", "WITH is not maintained"),
                ("t SELECT order_id, 'x' FROM orders LIMIT 3", "QUALIFY row_number()"),
                ("t SELECT order_id, 'x' FROM orders ORDER BY 1", "leave ORDER BY out"),
                ("t SELECT order_id, c.plan FROM orders o JOIN customers c ON c.customer_id > o.customer_id", "must be equal"),
                ("t SELECT order_id, c.plan FROM orders o, customers c", "must be equal"),
                ("t SELECT a.order_id, c.plan FROM orders a JOIN customers c ON a.customer_id = c.customer_id JOIN orders b ON b.order_id = a.order_id",
                 "join two tables into a table of its own"),
                ("revenue (plan, day, orders) SELECT c.plan, o.day, count(*) FROM orders o JOIN customers c USING (customer_id) GROUP BY ALL",
                 "insert the join into a table of its own"),
                ("revenue (plan, day, orders) SELECT c.plan, o.day, count(*) FROM orders o JOIN customers c ON c.customer_id = o.customer_id GROUP BY 1, 2",
                 "insert the join into a table of its own"),
                ("t SELECT customer_id, 'x' FROM orders", "let the query give the primary key"),
                ("t SELECT order_id, 'x' FROM orders UNION SELECT customer_id, 'x' FROM customers", "UNION ALL is"),
                ("log SELECT order_id, amount FROM orders", "give it a PRIMARY KEY"),
                ("orders SELECT * FROM orders", "read by its own query"),
                ("t SELECT order_id, nothing FROM orders", "nothing"),
                ("t SELECT order_id FROM orders", "1 column"),
                ("t (order_id, nothing) SELECT order_id, 'x' FROM orders", "no column nothing"),
                ("t SELECT order_id, 'x' FROM missing", "missing"),
                ("missing SELECT order_id, 'x' FROM orders", "missing"),
                ("t SELECT order_id, 'x' FROM", ""),
                ("sums SELECT order_id, sum(CAST(amount AS DOUBLE)), count(*) FROM log GROUP BY 1", "round each of them")):
            with self.subTest(query):
                self.pipeline(f"USE shop; INSERT INTO {query}")
                self.assertIn(why, self.run_once(status=1).stderr)
        for text, why in (("SELECT 1", "a pipeline holds CREATE TABLE, INSERT INTO … SELECT, USE and SET"), ("", "nothing to run"),
                          ("CREATE TABLE shop.x AS SELECT 1 AS a", "write CREATE TABLE with its columns"),
                          ("INSERT INTO t SELECT order_id, 'x' FROM shop.orders", "lacks its database")):
            with self.subTest(text):
                self.pipeline(text)
                self.assertIn(why, self.run_once(status=1).stderr)
        self.assertEqual(self.rows("show", "snapshots", "shop.t"), [])
        self.run_program("run", self.folder / "none.sql", status=2)
        self.run_program("run", self.folder / "chain.sql", "--every", "soon", status=2)

    def test_a_column_of_a_source_that_is_another_one_now_asks_for_rebuild(self):
        self.sql("CREATE TABLE shop.a (id BIGINT, x INT, y INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input'); "
                 "CREATE TABLE shop.t (id BIGINT, x STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); "
                 "INSERT INTO shop.a VALUES (1, 1, 1), (2, 20, 2), (3, 3, 3)")
        self.pipeline("INSERT INTO shop.t SELECT id, CAST(x AS STRING) FROM shop.a WHERE x IS NOT NULL")
        self.run_once()
        self.sql("ALTER TABLE shop.a MODIFY x BIGINT; ALTER TABLE shop.a ADD z INT; INSERT INTO shop.a VALUES (4, 4, 4, 4)")
        self.run_once()
        self.sql("ALTER TABLE shop.a DROP x; ALTER TABLE shop.a ADD x INT; INSERT INTO shop.a (id, x) VALUES (5, 5)")
        self.assertIn("column x of shop.a is another column since the job chain.shop.t ran last; --rebuild computes shop.t anew",
                      self.run_once(status=1).stderr)
        self.run_once("--rebuild")
        self.assertEqual(self.query("FROM shop.t"), [{"id": 5, "x": "5"}])
        self.sql("ALTER TABLE shop.a MODIFY x STRING")
        self.assertIn("column x of shop.a has become a text", self.run_once(status=1).stderr)

    def test_tables_that_feed_each_other_in_a_ring_are_refused(self):
        self.sql("CREATE TABLE db.a (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); "
                 "CREATE TABLE db.b (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')")
        self.pipeline("INSERT INTO db.b SELECT id, x + 1 FROM db.a; INSERT INTO db.a SELECT id, x FROM db.b;")
        self.assertIn("a ring might never come to rest", self.run_once(status=1).stderr)

    def test_a_source_that_was_made_anew_asks_for_rebuild(self):
        made = "CREATE TABLE db.a (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')"
        self.sql(f"{made}; INSERT INTO db.a VALUES (1, 1), (2, 2)")
        self.pipeline("CREATE TABLE db.t (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');\nINSERT INTO db.t SELECT id, x FROM db.a;")
        self.run_once()
        self.sql(f"DROP TABLE db.a; {made}; INSERT INTO db.a VALUES (3, 3); INSERT INTO db.a VALUES (4, 4)")
        self.assertIn("db.a was dropped and made anew", self.run_once(status=1).stderr)
        self.run_once("--rebuild")
        self.assertEqual(self.query("SELECT id FROM db.t ORDER BY id"), [{"id": 3}, {"id": 4}])

    def test_a_row_of_another_branch_is_not_written_over(self):
        self.sql("CREATE TABLE db.a (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO db.a VALUES (1, 1); "
                 "CREATE TABLE db.b (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')")
        self.pipeline("CREATE TABLE db.t (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "INSERT INTO db.t SELECT id, x FROM db.a UNION ALL SELECT id, x FROM db.b;")
        self.run_once()
        self.sql("INSERT INTO db.b VALUES (1, 7)")
        self.assertIn("has two rows of one primary key of db.t", self.run_once(status=1).stderr)
        self.assertEqual(self.query("FROM db.t"), [{"id": 1, "x": 1}])

    def test_two_zeros_are_one_group(self):
        self.sql("CREATE TABLE db.a (id INT, d DOUBLE, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO db.a VALUES (1, 0.0)")
        self.pipeline("CREATE TABLE db.t (d DOUBLE, n BIGINT, PRIMARY KEY (d) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "INSERT INTO db.t SELECT d, count(*) FROM db.a GROUP BY d;")
        self.run_once()
        self.sql("INSERT INTO db.a VALUES (2, -0.0)")
        self.run_once()
        self.assertEqual(self.query("FROM db.t"), [{"d": 0.0, "n": 2}])

    def test_a_sum_whose_parts_are_beyond_its_type_is_computed_as_a_whole(self):
        self.sql("CREATE TABLE db.a (id INT, x BIGINT, y INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'lookup'); "
                 "INSERT INTO db.a VALUES (1, 9000000000000000000, 0), (2, 9000000000000000000, 0), (3, -9000000000000000000, 0), (4, -9000000000000000000, 0)")
        self.pipeline("CREATE TABLE db.t (one INT, n BIGINT, s BIGINT, PRIMARY KEY (one) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "INSERT INTO db.t SELECT 1 + 0 * id, count(*), sum(x) FROM db.a GROUP BY 1 + 0 * id;")
        self.run_once()
        self.sql("UPDATE db.a SET y = 1 WHERE id < 3")
        self.run_once()
        self.assertEqual(self.query("FROM db.t"), [{"one": 1, "n": 4, "s": 0}])

    def test_of_the_rows_of_a_log_with_one_key_the_latest_counts_from_the_first_commit_on(self):
        self.sql("CREATE TABLE db.log (id INT, x INT) WITH ('bucket' = '-1')")
        self.sql("; ".join(f"INSERT INTO db.log SELECT i % 50, {n} FROM range(500) t(i)" for n in range(1, 9)))
        self.pipeline("CREATE TABLE db.t (id INT, x INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');\nINSERT INTO db.t SELECT id, x FROM db.log;")
        self.run_once()
        self.assertEqual(self.query("SELECT x, count(*) AS n FROM db.t GROUP BY x"), [{"x": 8, "n": 50}])
        self.sql("INSERT INTO db.log VALUES (1, 9)")
        self.run_once()
        self.assertEqual(self.query("SELECT x FROM db.t WHERE id < 3 ORDER BY id"), [{"x": 8}, {"x": 9}, {"x": 8}])
        self.sql("INSERT INTO db.t VALUES (77, 77)")
        self.run_once("--rebuild")
        self.assertEqual(self.query("SELECT count(*) AS n, max(x) AS x FROM db.t"), [{"n": 50, "x": 9}])

    def test_a_text_is_joined_with_a_number_as_the_query_says(self):
        self.sql("CREATE TABLE shop.a (id BIGINT, x INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input'); "
                 "CREATE TABLE shop.b (y STRING, n STRING, PRIMARY KEY (y) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input'); "
                 "CREATE TABLE shop.t (id BIGINT, y STRING, v STRING, PRIMARY KEY (id, y) NOT ENFORCED) WITH ('bucket' = '1'); "
                 "INSERT INTO shop.a VALUES (1, 1, 'old'); INSERT INTO shop.b VALUES ('01', 'n'), ('1', 'm'), ('2', 'o')")
        self.pipeline("INSERT INTO shop.t SELECT a.id, b.y, a.v FROM shop.a a JOIN shop.b b ON a.x = b.y")
        self.assertIn("the join compares a.x, INT, with b.y, STRING: a text and none; say by CAST", self.run_once(status=1).stderr)
        self.pipeline("INSERT INTO shop.t SELECT a.id, b.y, a.v FROM shop.a a JOIN shop.b b ON a.x = CAST(b.y AS INT)")
        self.run_once()
        self.sql("UPDATE shop.a SET v = 'new'")
        self.run_once()
        self.assertEqual(self.query("FROM shop.t ORDER BY y"), [{"id": 1, "y": "01", "v": "new"}, {"id": 1, "y": "1", "v": "new"}])

    def test_rows_that_an_order_leaves_equal_are_chosen_the_same_each_time(self):
        self.chain()
        self.sql("INSERT INTO shop.orders VALUES (1, 7, DATE '2026-05-01', 10), (2, 7, DATE '2026-05-01', 10), (3, 8, DATE '2026-05-01', 4)")
        self.pipeline("USE shop; CREATE TABLE firsts (order_id BIGINT, customer_id BIGINT, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1'); "
                      "CREATE TABLE largest (customer_id BIGINT, order_id BIGINT, PRIMARY KEY (customer_id) NOT ENFORCED) WITH ('bucket' = '1'); "
                      "INSERT INTO firsts SELECT order_id, customer_id FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY amount) = 1; "
                      "INSERT INTO largest SELECT customer_id, arg_max(order_id, amount) FROM orders GROUP BY customer_id")
        self.run_once()
        self.sql("DELETE FROM shop.orders WHERE order_id = 1")
        self.run_once()
        for table in ("firsts", "largest"):
            self.assertEqual(self.query(f"SELECT order_id, customer_id FROM shop.{table} ORDER BY 1"),
                             [{"order_id": 2, "customer_id": 7}, {"order_id": 3, "customer_id": 8}])

    def test_a_table_written_anew_in_other_buckets_has_not_changed(self):
        self.filled_chain()
        self.run_once()
        self.run_program("rescale", "shop.orders", "--buckets", 3)
        self.assertIn("shop.enriched: 0 rows in 0 commits", self.run_once().stderr)
        self.sql("DELETE FROM shop.orders WHERE order_id = 1; UPDATE shop.customers SET plan = 'team' WHERE customer_id = 1")
        self.run_program("rescale", "shop.orders", "--buckets", 1)
        self.run_program("rescale", "shop.enriched", "--buckets", 1)
        self.run_once()
        self.assertEqual(self.query("SELECT plan, orders, amount FROM shop.revenue ORDER BY plan"),
                         [{"plan": "team", "orders": 1, "amount": "5.00"}, {"plan": "unknown", "orders": 1, "amount": "7.00"}])
        self.assertEqual([row["_rowkind"] for row in self.rows("changes", "shop.enriched", "--from-snapshot", 2)], ["-D", "-U", "+U"])


class Held(RunCase):
    def consumers(self, table):
        folder = self.warehouse / "shop.db" / table / "consumer"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def test_a_looked_up_table_is_nobodys_lag(self):
        self.chain()
        self.sql("INSERT INTO shop.customers VALUES (1, 'Ana', 'pro'); INSERT INTO shop.orders VALUES (1, 1, DATE '2026-05-01', 10)")
        self.pipeline("USE shop;\nCREATE TABLE came (order_id BIGINT, plan STRING, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "INSERT INTO came SELECT o.order_id, c.plan FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer_id = c.customer_id;\n")
        self.run_once()
        self.sql("UPDATE shop.customers SET plan = 'team' WHERE customer_id = 1")
        [job] = self.rows("jobs", "shop.came")
        self.assertEqual((job["lag_snapshots"], job["lag_seconds"]), (0, 0))
        self.sql("UPDATE shop.orders SET amount = 11 WHERE order_id = 1")
        self.assertEqual(self.rows("jobs", "shop.came")[0]["lag_snapshots"], 1)
        self.run_once()
        self.assertEqual(self.query("SELECT plan FROM shop.came"), [{"plan": "team"}])

    def test_what_never_had_an_answer_or_is_dropped_holds_no_source(self):
        self.filled_chain()
        self.run_once()
        held = self.consumers("orders")
        self.assertEqual(held, ["consumer-headrace-chain.shop.enriched"])
        self.sql("INSERT INTO shop.customers VALUES (7, 'a name that is long', 'pro')")
        self.write("bad.sql", "CREATE TABLE shop.bad (customer_id BIGINT, name VARCHAR(3), PRIMARY KEY (customer_id) NOT ENFORCED) WITH ('bucket' = '1');\n"
                   "INSERT INTO shop.bad SELECT customer_id, name FROM shop.customers;\n")
        self.run_program("run", self.folder / "bad.sql", "--once", status=1)
        self.assertEqual(self.consumers("customers"), held)
        self.run_program("drop", "shop.enriched")
        self.assertEqual(self.consumers("orders") + self.consumers("customers"), [])

    def test_a_table_that_is_there_with_another_key_is_told(self):
        self.chain()
        self.pipeline("CREATE TABLE shop.orders (order_id BIGINT, day DATE, PRIMARY KEY (order_id, day) NOT ENFORCED);\n" + "INSERT INTO shop.enriched SELECT 1;\n")
        told = self.run_once(status=1).stderr
        self.assertIn("CREATE TABLE shop.orders: the table is there already, with the primary key (order_id) where the file says (order_id, day)", told)


class Until(RunCase):
    def test_it_ends_once_a_snapshot_and_all_that_is_made_of_it_are_in(self):
        self.filled_chain()
        latest = int(self.rows("show", "snapshots", "shop.orders")[-1]["snapshot"])
        command = [PROGRAM, "--warehouse", str(self.warehouse), "run", str(self.folder / "chain.sql"), "--every", "20ms", "--until-snapshot"]
        self.run_program("run", self.folder / "chain.sql", "--explain")  # makes the tables, so that they can be asked
        process = subprocess.Popen([*command, f"shop.orders={latest + 2}"], stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.wait_for("SELECT count(*) AS n FROM shop.revenue", [{"n": 2}])
        self.sql("INSERT INTO shop.orders VALUES (4, 2, DATE '2026-05-03', 1)")
        self.wait_for("SELECT count(*) AS n FROM shop.revenue", [{"n": 3}])
        self.assertIsNone(process.poll())
        self.sql("INSERT INTO shop.orders VALUES (5, 2, DATE '2026-05-04', 1)")
        self.assertEqual(process.wait(60), 0, process.stderr.read())
        self.assertEqual(self.query("SELECT count(*) AS n FROM shop.revenue"), [{"n": 4}])
        self.run_program("run", self.folder / "chain.sql", "--until-snapshot", "shop.orders=1", "--until-snapshot", "shop.customers=1")

    def test_it_waits_for_what_follows_both_and_for_what_fails_meanwhile(self):
        self.filled_chain()
        self.pipeline(PIPELINE + "CREATE TABLE both (order_id BIGINT, plan VARCHAR(4), PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1');\n"
                      "INSERT INTO both SELECT o.order_id, e.plan FROM orders o JOIN enriched e ON o.order_id = e.order_id;\n")
        self.sql("UPDATE shop.customers SET plan = 'team'; INSERT INTO shop.customers VALUES (9, 'Eve', 'pro')")
        latest = int(self.rows("show", "snapshots", "shop.orders")[-1]["snapshot"])
        self.run_once()
        self.sql("INSERT INTO shop.customers VALUES (10, 'Max', 'long plan'); INSERT INTO shop.orders VALUES (6, 10, DATE '2026-05-03', 1)")
        command = [PROGRAM, "--warehouse", str(self.warehouse), "run", str(self.folder / "chain.sql"), "--every", "20ms", "--until-snapshot", f"shop.orders={latest + 1}"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.wait_for("SELECT plan FROM shop.enriched WHERE order_id = 6", [{"plan": "long plan"}])
        time.sleep(1)
        self.assertIsNone(process.poll(), "a stage that fails is waited for")
        self.sql("UPDATE shop.customers SET plan = 'one' WHERE customer_id = 10")
        self.assertEqual(process.wait(60), 0, process.stderr.read())
        self.assertEqual(self.query("SELECT plan FROM shop.both WHERE order_id = 6"), [{"plan": "one"}])

    def test_what_cannot_be_waited_for_is_told(self):
        self.filled_chain()
        for given, status, told in (("shop.revenue=1", 1, "no statement of the pipeline follows it; they follow shop.customers, shop.enriched, shop.orders"),
                                    ("shop.orders=0", 2, "a snapshot is a number from 1 on"), ("shop.orders", 2, "name=value")):
            done = self.run_program("run", self.folder / "chain.sql", "--until-snapshot", given, status=status)
            self.assertIn(told, done.stderr)


if __name__ == "__main__":
    unittest.main()
