"""PostgreSQL → headrace sync → headrace run: a join and an aggregate over followed tables, with both processes killed at random."""

import json
import os
import random
import signal
import subprocess
import time
import unittest

from program_case import PROGRAM
from test_sync_postgres import SyncCase

SEED = int(os.environ.get("HEADRACE_SEED") or time.time_ns() % 10**9)
ROUNDS = 12

PIPELINE = """
USE shop;
CREATE TABLE enriched (id INT, day INT, plan STRING, amount INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'changelog-producer' = 'input');
CREATE TABLE revenue (plan STRING, day INT, orders BIGINT, amount BIGINT, PRIMARY KEY (plan, day) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'lookup');
INSERT INTO enriched SELECT o.id, o.day, coalesce(c.plan, 'none'), o.amount FROM orders o LEFT JOIN customers c ON o.customer = c.id;
INSERT INTO revenue SELECT plan, day, count(*), sum(amount) FROM enriched GROUP BY plan, day;
"""
REVENUE = ("SELECT row_to_json(t) FROM (SELECT coalesce(c.plan, 'none') AS plan, o.day, count(*) AS orders, sum(o.amount) AS amount "
           "FROM orders o LEFT JOIN customers c ON o.customer = c.id GROUP BY 1, 2) t")


class PostgresChain(SyncCase):
    def test_the_last_table_is_what_the_server_answers_whoever_is_killed(self):
        self.play(PIPELINE)

    def test_so_it_is_by_way_of_a_copy(self):
        self.play("SET 'copies' = 'true';\n" + PIPELINE)
        self.assertEqual(len(self.rows("read", "shop.orders_by_customer")), len(self.rows("read", "shop.orders")))

    def play(self, pipeline):
        draw = random.Random(SEED)
        self.sql("CREATE TABLE customers (id int PRIMARY KEY, plan text); CREATE TABLE orders (id int PRIMARY KEY, customer int, day int, amount int)")
        self.once()
        self.pipeline = self.write("chain.sql", pipeline)
        for _ in range(ROUNDS):
            processes = [self.start(), self.start_run()]
            for _ in range(draw.randrange(1, 6)):
                self.sql(self.transaction(draw))
            time.sleep(draw.random() * 0.8)
            for process in processes:
                if draw.random() < 0.6:
                    process.kill()
                    process.wait()
                else:  # a signal that comes before the program looks at signals ends it as a kill does
                    process.terminate()
                    self.assertIn(process.wait(60), (0, -signal.SIGTERM), process.log.read_text())
        self.once()
        self.run_program("run", self.pipeline, "--once")
        with self.subTest(f"HEADRACE_SEED={SEED}"):
            expected = sorted((json.loads(line) for line in self.sql(REVENUE)), key=json.dumps)
            self.assertEqual(self.table_rows("revenue"), expected)
            self.run_program("check", "shop.revenue", "--changelog")

    def start_run(self):
        log = self.folder / f"run-{len(self.processes)}.log"
        with open(log, "w") as out:
            process = subprocess.Popen([PROGRAM, "--warehouse", str(self.warehouse), "run", str(self.pipeline), "--every", "20ms"], stdout=out, stderr=out, cwd=self.folder)
        process.log = log
        self.processes.append(process)
        return process

    @staticmethod
    def transaction(draw):
        def statement():
            order, customer = draw.randrange(40), draw.choice([*range(8), "NULL"])
            return draw.choice((
                f"INSERT INTO orders VALUES ({order}, {customer}, {draw.randrange(3)}, {draw.randrange(100)}) ON CONFLICT (id) DO UPDATE SET customer = excluded.customer, amount = excluded.amount",
                f"DELETE FROM orders WHERE id = {order}",
                f"UPDATE orders SET day = day + 1 WHERE id % 7 = {order % 7}",
                f"UPDATE orders SET id = id + 100 WHERE id = {order} AND NOT EXISTS (SELECT 1 FROM orders WHERE id = {order + 100})",
                f"INSERT INTO customers VALUES ({draw.randrange(8)}, '{draw.choice(('trial', 'pro', 'team'))}') ON CONFLICT (id) DO UPDATE SET plan = excluded.plan",
                f"DELETE FROM customers WHERE id = {draw.randrange(8)}"))
        return "BEGIN; " + "; ".join(statement() for _ in range(draw.randrange(1, 5))) + "; COMMIT"


if __name__ == "__main__":
    unittest.main()
