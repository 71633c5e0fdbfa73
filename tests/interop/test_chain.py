#!/usr/bin/env python3
"""A chain of tables that headrace keeps true by SQL: Flink streams the last one and agrees, and a job of Flink's takes the place of a stage
in the middle, on the same tables. The cluster lives in one JVM."""

import json
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import peers

PATIENCE = 120  # seconds until a stream must have come to its end; it takes a few
POLL = "/*+ OPTIONS('continuous.discovery-interval'='100 ms') */"
TABLES = {
    "orders": ("id BIGINT, customer_id BIGINT, day DATE, amount DECIMAL(12, 2)", "input"),
    "customers": ("id BIGINT, name STRING, plan STRING", "lookup"),
}
ENRICHED = """
CREATE TABLE shop.enriched (id BIGINT, customer_id BIGINT, plan STRING, day DATE, amount DECIMAL(12, 2), PRIMARY KEY (id) NOT ENFORCED)
  WITH ('bucket' = '2', 'changelog-producer' = 'lookup');
INSERT INTO shop.enriched SELECT o.id, o.customer_id, c.plan, o.day, o.amount
  FROM shop.orders o LEFT JOIN shop.customers c ON o.customer_id = c.id;
"""
REVENUE = """
CREATE TABLE shop.revenue (plan STRING, day DATE, amount DECIMAL(38, 2), orders BIGINT, PRIMARY KEY (plan, day) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'lookup');
INSERT INTO shop.revenue SELECT coalesce(plan, 'none'), day, sum(amount), count(*) FROM shop.enriched GROUP BY 1, 2;
"""
BY_PLAN = """
CREATE TABLE shop.by_plan (plan STRING, days BIGINT, amount DECIMAL(38, 2), PRIMARY KEY (plan) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'lookup');
INSERT INTO shop.by_plan SELECT plan, count(*), sum(amount) FROM shop.revenue GROUP BY plan;
"""
ALL_REVENUE = """SELECT coalesce(c.plan, 'none') AS plan, o.day AS day, sum(o.amount) AS amount, count(*) AS orders
  FROM shop.orders o LEFT JOIN shop.customers c ON o.customer_id = c.id GROUP BY 1, 2"""
ALL_BY_PLAN = f"SELECT plan, count(*) AS days, sum(amount) AS amount FROM ({ALL_REVENUE}) GROUP BY plan"


def in_order(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


class Chain(unittest.TestCase):
    def setUp(self):
        self.seed = random.randrange(10**6)
        self.random = random.Random(self.seed)
        self.headrace = peers.Headrace()
        self.flink = peers.flink()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-chain-"))
        self.warehouse = str(self.folder / "warehouse")
        self.process = None
        for name, (columns, producer) in TABLES.items():
            self.run_headrace("create", f"shop.{name}", "--schema", columns, "--primary-key", "id", "--option", "bucket=2", "--option",
                              f"changelog-producer={producer}")

    def tearDown(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.flink.close()
        shutil.rmtree(self.folder)

    def run_headrace(self, *arguments):
        return self.headrace.run("--warehouse", self.warehouse, *arguments)

    def sql(self, text):
        return [json.loads(line) for line in self.run_headrace("sql", "--format", "jsonl", "-c", text).splitlines()]

    def follow_pipeline(self, *statements):
        file = self.folder / "chain.sql"
        file.write_text("".join(statements), encoding="utf-8")
        self.run_headrace("run", str(file), "--once")
        self.process = self.headrace.start("--warehouse", self.warehouse, "run", str(file), "--every", "100ms")

    def change_something(self):
        draw = self.random
        if draw.random() < 0.3:
            rows = ", ".join(f"({i}, 'name {i}', '{draw.choice(['trial', 'pro', 'team'])}')" for i in draw.sample(range(12), 3))
            self.run_headrace("sql", "-c", f"INSERT INTO shop.customers VALUES {rows}")
        elif draw.random() < 0.2:
            self.run_headrace("sql", "-c", f"DELETE FROM shop.orders WHERE id % 7 = {draw.randrange(7)}")
        else:
            rows = ", ".join(f"({i}, {draw.randrange(14)}, DATE '2026-01-0{draw.randrange(1, 4)}', {draw.randrange(9999)} / 100)"
                             for i in draw.sample(range(60), 8))
            self.run_headrace("sql", "-c", f"INSERT INTO shop.orders VALUES {rows}")

    def until(self, read, want, what):
        end = time.monotonic() + PATIENCE
        got = None
        while time.monotonic() < end:
            got = in_order(read())
            if got == in_order(want()):
                time.sleep(1)
                break
            time.sleep(0.3)
        self.assertEqual(in_order(read()), in_order(want()), f"{what}; the seed is {self.seed}")

    def test_flink_streams_the_last_table_of_a_chain(self):
        for _ in range(4):
            self.change_something()
        self.follow_pipeline(ENRICHED, REVENUE)
        self.flink.follow(warehouse=self.warehouse, name="last", sql=f"SELECT plan, `day`, amount, orders FROM shop.revenue {POLL}")
        for _ in range(24):
            self.change_something()
        self.until(lambda: self.sql("FROM shop.revenue"), lambda: self.sql(ALL_REVENUE), "the last table")
        self.until(lambda: [json.loads(line) for line in self.flink.collected(name="last")], lambda: self.sql(ALL_REVENUE),
                   "what Flink has of the last table's changes")
        self.flink.stop(name="last")
        self.assertIsNone(self.process.poll(), "the pipeline goes on")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(30), 0)

    def test_a_job_of_flink_takes_the_place_of_the_stage_in_the_middle(self):
        for _ in range(4):
            self.change_something()
        self.run_headrace("create", "shop.revenue", "--schema", "plan STRING, day DATE, amount DECIMAL(38, 2), orders BIGINT", "--primary-key",
                          "plan,day", "--option", "bucket=1", "--option", "changelog-producer=lookup")
        self.follow_pipeline(ENRICHED, BY_PLAN)
        self.flink.start(warehouse=self.warehouse, name="middle",
                         sql="INSERT INTO shop.revenue SELECT COALESCE(plan, 'none') AS plan, `day`, SUM(amount) AS amount, COUNT(*) AS orders "
                             f"FROM shop.enriched {POLL} GROUP BY COALESCE(plan, 'none'), `day`")
        for _ in range(24):
            self.change_something()
        self.until(lambda: self.sql("FROM shop.revenue"), lambda: self.sql(ALL_REVENUE), "the table that Flink keeps")
        self.until(lambda: self.sql("FROM shop.by_plan"), lambda: self.sql(ALL_BY_PLAN), "what headrace makes of Flink's table")
        self.assertEqual(self.flink.status(name="middle"), {"status": "RUNNING"})
        self.flink.stop(name="middle")


if __name__ == "__main__":
    unittest.main()
