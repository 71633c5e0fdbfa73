"""What the tests of `headrace run` share: the chain customers, orders → enriched → revenue, random changes of its sources, and what each snapshot of it must be."""

import json
import os
import random
import signal
import subprocess
import time

from program_case import PROGRAM, ProgramCase

SEED = int(os.environ.get("HEADRACE_SEED") or time.time_ns() % 10**9)
COMMITS = int(os.environ.get("HEADRACE_CHAIN_COMMITS") or 200)

PLANS = ["trial", "pro", "team", "one"]

# Names in braces are the sources: tables, or tables as of a snapshot.
ENRICHED = ("SELECT o.order_id, o.day, coalesce(c.plan, 'unknown') AS plan, o.customer_id, c.name, o.amount "
            "FROM {orders} o LEFT JOIN {customers} c ON c.customer_id = o.customer_id")
REVENUE = "SELECT plan, day, count(*) AS orders, sum(amount) AS amount, max(amount) AS largest FROM {enriched} GROUP BY plan, day"

SOURCES = """
CREATE TABLE shop.customers (customer_id BIGINT, name STRING, plan STRING, PRIMARY KEY (customer_id) NOT ENFORCED)
  WITH ('bucket' = '2', 'changelog-producer' = 'input');
CREATE TABLE shop.orders (order_id BIGINT, customer_id BIGINT, day DATE, amount DECIMAL(12, 2), PRIMARY KEY (order_id) NOT ENFORCED)
  WITH ('bucket' = '2', 'changelog-producer' = '{producer}');
"""
PIPELINE = """
USE shop;
CREATE TABLE enriched (order_id BIGINT, day DATE, plan STRING, customer_id BIGINT, name STRING, amount DECIMAL(12, 2),
  PRIMARY KEY (order_id) NOT ENFORCED) WITH ('bucket' = '2', 'changelog-producer' = 'input');
CREATE TABLE revenue (plan STRING, day DATE, orders BIGINT, amount DECIMAL(38, 2), largest DECIMAL(12, 2),
  PRIMARY KEY (plan, day) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input');
""" + f"INSERT INTO enriched {ENRICHED};\nINSERT INTO revenue {REVENUE};\n".format(orders="orders", customers="customers", enriched="enriched")


class RunCase(ProgramCase):
    def sql(self, statements, **options):
        return self.run_program("sql", "-c", statements, "--format", "jsonl", **options)

    def query(self, statement):
        return [json.loads(line) for line in self.sql(statement).stdout.splitlines()]

    def pipeline(self, text, name="chain.sql"):
        return self.write(name, text)

    def run_once(self, *options, **keywords):
        return self.run_program("run", self.folder / "chain.sql", "--once", *options, **keywords)

    def start(self, *options, every="10ms"):
        self.run_program("run", self.folder / "chain.sql", "--explain")  # makes the tables, so that they can be asked
        process = subprocess.Popen([PROGRAM, "--warehouse", str(self.warehouse), "run", str(self.folder / "chain.sql"), "--every", every, *options],
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def stop(self, process, status=0):
        """Ends a following run as Ctrl-C does; what it told."""
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, told)
        return told

    def wait_for(self, statement, expected, seconds=60):
        end = time.monotonic() + seconds
        while (found := self.query(statement)) != expected:
            self.assertLess(time.monotonic(), end, f"waited for {expected}, found {found}")
            time.sleep(0.05)

    def chain(self, producer="input"):
        self.sql(SOURCES.replace("{producer}", producer))
        self.pipeline(PIPELINE)

    def filled_chain(self):
        self.chain()
        self.sql("INSERT INTO shop.customers VALUES (1, 'Ana', 'pro'), (2, 'Otto', 'trial'); "
                 "INSERT INTO shop.orders VALUES (1, 1, DATE '2026-05-01', 10), (2, 1, DATE '2026-05-01', 5), (3, 9, DATE '2026-05-02', 7)")

    def positions(self, table):
        """For each snapshot of a target that holds rows of its stage: the last snapshots of the sources that it is true for."""
        found = []
        folder = self.warehouse / "shop.db" / table / "snapshot"
        for path in sorted(folder.glob("snapshot-*"), key=lambda path: int(path.name.split("-")[1])):
            snapshot = json.loads(path.read_text())
            position = json.loads(snapshot["properties"][f"headrace.position.chain.shop.{table}"])
            found.append((snapshot["id"], {source["table"]: source["nextSnapshot"] - 1 for source in position["sources"]}))
        return found

    def wrong_snapshots(self, table, query, columns):
        """Snapshots of a target that are not its query over the sources at the positions that they hold."""
        checks = []
        for snapshot, sources in self.positions(table):
            tables = {name.split(".")[1]: f"paimon('{name}', snapshot => {at})" if at else f"(SELECT * FROM {name} LIMIT 0)"
                      for name, at in sources.items()}
            wanted, found = query.format(**tables), f"SELECT {columns} FROM paimon('shop.{table}', snapshot => {snapshot})"
            checks.append(f"SELECT {snapshot} AS snapshot, count(*) AS rows FROM "
                          f"((({wanted}) EXCEPT ALL ({found})) UNION ALL (({found}) EXCEPT ALL ({wanted}))) HAVING count(*) > 0")
        wrong = []
        for begin in range(0, len(checks), 25):
            wrong += self.query("; ".join(checks[begin:begin + 25]))
        return wrong

    def check_chain(self):
        self.assertEqual(self.wrong_snapshots("enriched", ENRICHED, "order_id, day, plan, customer_id, name, amount"), [])
        self.assertEqual(self.wrong_snapshots("revenue", REVENUE, "plan, day, orders, amount, largest"), [])
        self.check_chain_now()

    def check_chain_now(self):
        for table, query in (("enriched", ENRICHED.format(orders="shop.orders", customers="shop.customers")),
                             ("revenue", REVENUE.format(enriched="shop.enriched"))):
            self.assertEqual(self.query(f"SELECT * FROM shop.{table} ORDER BY ALL"), self.query(f"SELECT * FROM ({query}) ORDER BY ALL"))
            self.run_program("check", f"shop.{table}", "--data", "--changelog")

    def enriched_stays_true(self, customers=(*range(6), "NULL")):
        draw = random.Random(SEED)
        for step in range(12):
            changes = [f"INSERT INTO shop.orders VALUES ({draw.randrange(30)}, {draw.choice(customers)}, DATE '2026-05-0{draw.randrange(1, 4)}', {draw.randrange(100)})" for _ in range(4)]
            changes.append(f"INSERT INTO shop.customers VALUES ({draw.randrange(6)}, 'n{step}', '{draw.choice(PLANS)}')")
            if step % 3 == 2:
                changes.append(f"DELETE FROM shop.orders WHERE order_id = {draw.randrange(30)}")
                changes.append(f"DELETE FROM shop.customers WHERE customer_id = {draw.randrange(6)}")
            self.sql("; ".join(changes))
            self.run_once()
            expected = ENRICHED.format(orders="shop.orders", customers="shop.customers")
            differing = f"(FROM shop.enriched EXCEPT ({expected})) UNION ALL (({expected}) EXCEPT FROM shop.enriched)"
            self.assertEqual(self.query(f"SELECT * FROM ({differing})"), [], f"HEADRACE_SEED={SEED}")
            self.assertEqual(self.query("SELECT (SELECT count(*) FROM shop.enriched) - (SELECT count(*) FROM shop.orders) AS n"), [{"n": 0}])


class Events:
    """Random changes: of customers as Debezium events, of orders as statements."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.customers = {}

    def customer_event(self):
        key = self.random.randrange(12)
        old = self.customers.get(key)
        if old is not None and self.random.random() < 0.3:
            del self.customers[key]
            return {"before": old, "after": None, "op": "d"}
        row = {"customer_id": key, "name": self.random.choice(["Ana", "Otto", "Zoë", None]), "plan": self.random.choice([*PLANS, None])}
        free = [n for n in range(12) if n not in self.customers]
        if old is not None and free and self.random.random() < 0.2:
            moved = row | {"customer_id": self.random.choice(free)}
            del self.customers[key]
            self.customers[moved["customer_id"]] = moved
            return {"before": old, "after": moved, "op": "u"}
        self.customers[key] = row
        return {"before": old, "after": row, "op": "c" if old is None else "u"}

    def order_statement(self):
        some, other, day = self.random.randrange(30), self.random.randrange(30), self.random.randrange(1, 4)
        customer = self.random.choice([*map(str, range(10)), "NULL"])
        amount = self.random.randrange(1, 1000) / 100
        return self.random.choice([
            f"INSERT INTO shop.orders VALUES ({some}, {customer}, DATE '2026-05-0{day}', {amount})",
            f"INSERT INTO shop.orders VALUES ({some}, {customer}, DATE '2026-05-0{day}', {amount}), ({other}, 3, DATE '2026-05-01', NULL)",
            f"UPDATE shop.orders SET amount = amount + {amount} WHERE order_id % 7 = {some % 7}",
            f"UPDATE shop.orders SET customer_id = {customer} WHERE order_id BETWEEN {some} AND {some + 3}",
            f"UPDATE shop.orders SET order_id = {other} WHERE order_id = {some}",
            f"UPDATE shop.orders SET day = DATE '2026-05-0{day}' WHERE order_id > {some}",
            f"DELETE FROM shop.orders WHERE order_id = {some}",
            f"DELETE FROM shop.orders WHERE day = DATE '2026-05-0{day}' AND order_id % 2 = 0"])
