"""`headrace run` that goes on: Ctrl-C, several processes, failures, metrics."""

import signal
import subprocess
import time
import unittest
import urllib.request

from program_case import PROGRAM
from run_case import Events, PIPELINE, RunCase, SEED


class Follow(RunCase):
    def test_metrics_tell_how_far_each_stage_is_and_why_one_does_not_go_on(self):
        self.filled_chain()
        self.sql("CREATE TABLE shop.small (order_id BIGINT, cents TINYINT, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1')")
        self.pipeline("USE shop; INSERT INTO small SELECT order_id, CAST(max(amount) AS INT) FROM orders GROUP BY order_id;" + PIPELINE)
        process = self.start("--metrics", "0")
        line = ""
        while "metrics at " not in line:
            line = process.stderr.readline()
        url = line.split("metrics at ")[1].strip()

        def page():
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.read().decode()

        def wait_for(part):
            end = time.monotonic() + 60
            while part not in (told := page()):
                self.assertLess(time.monotonic(), end, f"waited for {part}, found {told}")
                time.sleep(0.05)

        revenue = 'job="chain.shop.revenue",target="shop.revenue"'
        wait_for(f"headrace_stage_rows_total{{{revenue}}} 2\n")
        for part in (f"headrace_stage_up{{{revenue}}} 1\n", f"headrace_stage_commits_total{{{revenue}}} 1\n",
                     f"headrace_stage_target_snapshot{{{revenue}}} 1\n", *(f'headrace_stage_lag_{what}{{{revenue},source="shop.enriched"}} 0\n'
                                                                          for what in ("snapshots", "rows", "seconds"))):
            self.assertIn(part, page())
        self.assertNotIn("headrace_stage_last_error{", page())
        self.sql("INSERT INTO shop.orders VALUES (8, 2, DATE '2026-05-03', 1000), (9, 2, DATE '2026-05-03', 1)")
        small = 'job="chain.shop.small",target="shop.small"'
        wait_for(f"headrace_stage_up{{{small}}} 0\n")
        self.assertIn(f'headrace_stage_last_error{{{small},error="', page())
        self.assertIn(f'headrace_stage_lag_rows{{{small},source="shop.orders"}} 2\n', page())
        wait_for(f'headrace_stage_lag_rows{{{revenue},source="shop.enriched"}} 0\n')
        self.stop(process)
        [job] = [row for row in self.rows("jobs", "shop.small")]
        self.assertEqual((job["lag_snapshots"], job["lag_rows"]), (1, 2))

    def test_ctrl_c_of_one_of_two_processes_is_no_failure(self):
        self.filled_chain()
        processes = [self.start(), self.start()]
        self.wait_for("SELECT count(*) AS n FROM shop.revenue", [{"n": 2}])
        for n in range(3):  # positions move without rows, and both want to keep them
            self.sql(f"UPDATE shop.customers SET name = 'n{n}' WHERE customer_id = 2")
            time.sleep(0.3)
        for process in processes:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
            self.assertIn(process.returncode, (0, -signal.SIGINT), told)  # the latter before it looks at signals
        self.run_once()
        self.check_chain()

    def test_ctrl_c_ends_with_what_is_whole_committed(self):
        self.filled_chain()
        process = self.start()
        self.wait_for("SELECT orders FROM shop.revenue ORDER BY 1", [{"orders": 1}, {"orders": 2}])
        self.sql("DELETE FROM shop.orders WHERE customer_id = 1")
        self.wait_for("SELECT plan FROM shop.revenue", [{"plan": "unknown"}])
        told = self.stop(process)
        self.assertIn("shop.enriched: 5 rows in 2 commits", told)
        self.assertIn("shop.revenue: 3 rows in 2 commits", told)

    def test_two_processes_with_one_pipeline_stay_true_together(self):
        self.filled_chain()
        processes = [self.start() for _ in range(2)]
        events = Events(SEED)
        for _ in range(8):
            self.sql("; ".join(events.order_statement() for _ in range(3)))
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            _, told = process.communicate(timeout=60)
            if process.returncode != 0:
                self.assertEqual(process.returncode, 1, told)
                self.assertIn("another process runs the job", told)
        self.run_once()
        with self.subTest(f"HEADRACE_SEED={SEED}"):
            self.check_chain()

    def test_a_process_that_was_overtaken_goes_on_when_the_other_has_ended(self):
        self.filled_chain()
        waiting = self.start(every="1s")
        self.wait_for("SELECT count(*) AS n FROM shop.revenue", [{"n": 2}])
        for n in range(5):
            self.sql(f"INSERT INTO shop.orders VALUES (2{n}, 2, DATE '2026-05-03', 1)")
            subprocess.run([PROGRAM, "--warehouse", str(self.warehouse), "run", str(self.folder / "chain.sql"), "--once"], capture_output=True)
        self.sql("INSERT INTO shop.orders VALUES (30, 2, DATE '2026-05-03', 1)")
        self.wait_for("SELECT orders FROM shop.revenue WHERE plan = 'trial'", [{"orders": 6}])
        self.stop(waiting)
        self.check_chain()

    def test_a_stage_that_fails_is_told_with_its_input_while_others_go_on(self):
        self.filled_chain()
        self.sql("CREATE TABLE shop.small (order_id BIGINT, cents TINYINT, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '1')")
        self.pipeline("USE shop; INSERT INTO small SELECT order_id, CAST(max(amount) AS INT) FROM orders GROUP BY order_id;" + PIPELINE)
        self.run_once()
        before = self.query("SELECT * FROM shop.small ORDER BY 1")
        self.sql("INSERT INTO shop.orders VALUES (8, 2, DATE '2026-05-03', 1000), (9, 2, DATE '2026-05-03', 1)")
        told = self.run_once(status=1).stderr
        for part in ("bringing shop.small up to date with shop.orders snapshots 2 to 2", "1000"):
            self.assertIn(part, told)
        self.assertEqual(self.query("SELECT orders FROM shop.revenue WHERE plan = 'trial'"), [{"orders": 2}])
        self.assertEqual(self.query("SELECT * FROM shop.small ORDER BY 1"), before)
        process = self.start()
        self.sql("INSERT INTO shop.orders VALUES (10, 2, DATE '2026-05-03', 2)")
        self.wait_for("SELECT orders FROM shop.revenue WHERE plan = 'trial'", [{"orders": 3}])
        self.sql("UPDATE shop.orders SET amount = 3 WHERE order_id = 8")
        self.wait_for("SELECT count(*) AS n FROM shop.small", [{"n": 6}])
        told = self.stop(process)
        self.assertIn("tried again; other stages go on", told)
        self.assertIn("shop.small goes on", told)

    def test_a_row_without_a_key_is_told(self):
        self.filled_chain()
        self.pipeline(PIPELINE.replace("coalesce(c.plan, 'unknown') AS plan", "c.plan"))
        told = self.run_once(status=1).stderr
        for part in ("bringing shop.revenue up to date", "primary key (plan, day)", "COALESCE"):
            self.assertIn(part, told)
        self.assertEqual(self.query("SELECT count(*) AS n FROM shop.enriched"), [{"n": 3}])


if __name__ == "__main__":
    unittest.main()
