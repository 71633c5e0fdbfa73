"""One PostgreSQL by two routes at once: Debezium through a real broker, and headrace directly; both killed at random times.

In the end the tables of both are PostgreSQL's own rows, and the changelogs of both hold each committed row change once.
"""

import collections
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import peers

sys.path.insert(0, str(peers.ROOT / "tests" / "services"))
import kafka_broker  # noqa: E402
from postgres import Postgres  # noqa: E402

PROGRAM = os.environ.get("HEADRACE_PROGRAM") or str(peers.ROOT / "build" / "bin" / "headrace")
SEED = int(os.environ.get("HEADRACE_SEED") or random.randrange(10**6))

WHOLE = ("accounts", "tellers", "orders")  # REPLICA IDENTITY FULL: every change has its old row, and is audited
BY_KEY = ("lines", "documents")
PARTITIONS = {"accounts": 3, "tellers": 2, "orders": 3, "lines": 2, "documents": 1, "done": 1}
TABLES = tuple(PARTITIONS)

SETUP = """
CREATE TABLE audit (seq bigserial PRIMARY KEY, tab text, op text, old_row text, new_row text);
CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int, filler text);
CREATE TABLE tellers (tid int PRIMARY KEY, bid int, tbalance bigint);
CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(20), amount numeric(12, 2), paid boolean, placed_at timestamptz, note text);
CREATE TABLE lines (order_id bigint, line int, sku text, PRIMARY KEY (line, order_id));
CREATE TABLE documents (id int PRIMARY KEY, title text, body text);
ALTER TABLE documents ALTER body SET STORAGE EXTERNAL;
CREATE TABLE done (id int PRIMARY KEY);
INSERT INTO accounts SELECT g, g % 3, 0, repeat('x', 84) FROM generate_series(1, 200) g;
INSERT INTO tellers SELECT g, g % 3, 0 FROM generate_series(1, 10) g;
INSERT INTO orders SELECT g, 'first', g / 4.0, NULL, '2024-05-17 13:14:15.123456+02', NULL FROM generate_series(1, 20) g;
INSERT INTO lines SELECT g, g % 4, 'pen' FROM generate_series(1, 20) g;
INSERT INTO documents SELECT g, 'first', repeat('body ' || g, 900) FROM generate_series(1, 5) g;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit (tab, op, old_row, new_row) VALUES (TG_TABLE_NAME, TG_OP, row_to_json(OLD)::text, row_to_json(NEW)::text);
  RETURN NULL; END $$;
""" + "".join(f"""
ALTER TABLE {table} REPLICA IDENTITY FULL;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION note();
""" for table in WHOLE)

BANK = r"""\set aid random(1, 200)
\set tid random(1, 10)
\set delta random(-5000, 5000)
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
DELETE FROM accounts WHERE aid = :aid AND :delta % 7 = 0;
INSERT INTO accounts VALUES (:aid, 1, :delta, 'again') ON CONFLICT DO NOTHING;
END;
"""
# Each client has keys of its own, so that no two want the same one.
SHOP = r"""\set id :client_id * 100 + random(1, 30)
\set other :client_id * 100 + random(1, 30)
\set n random(1, 100000)
BEGIN;
INSERT INTO orders VALUES (:id, 'customer ' || :n, :n / 100.0, :n % 2 = 0, clock_timestamp(), NULL)
  ON CONFLICT (id) DO UPDATE SET amount = EXCLUDED.amount, note = 'changed ' || :n;
UPDATE orders SET id = :other WHERE id = :id AND :n % 3 = 0 AND NOT EXISTS (SELECT 1 FROM orders WHERE id = :other);
DELETE FROM orders WHERE id = :other AND :n % 5 = 0;
INSERT INTO lines VALUES (:id, :n % 4, 'sku ' || :n) ON CONFLICT (line, order_id) DO UPDATE SET sku = EXCLUDED.sku;
UPDATE lines SET line = 4 WHERE order_id = :id AND line = 1 AND NOT EXISTS (SELECT 1 FROM lines WHERE order_id = :id AND line = 4);
DELETE FROM lines WHERE order_id = :other AND :n % 5 = 1;
END;
"""
# Large values that are not sent again, also where the key changes.
LARGE = r"""\set id :client_id * 100 + random(1, 8)
\set other :client_id * 100 + random(1, 8)
\set n random(1, 100000)
BEGIN;
INSERT INTO documents VALUES (:id, 'title', repeat('body ' || :n, 500)) ON CONFLICT (id) DO UPDATE SET title = 'title ' || :n;
UPDATE documents SET id = :other WHERE id = :id AND :n % 2 = 0 AND NOT EXISTS (SELECT 1 FROM documents WHERE id = :other);
DELETE FROM documents WHERE id = :other AND :n % 5 = 0;
END;
"""


def plain(row):
    """A row as every side writes it: exact decimals as text, instants as instants."""
    def cell(value):
        if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
            value = datetime.datetime.fromisoformat(value).astimezone(datetime.timezone.utc).isoformat()
        return value

    return json.dumps({name: cell(value) for name, value in row.items() if not name.startswith("_")}, sort_keys=True)


def load(line):
    return json.loads(line, parse_float=str)


class Route:
    """One way from the server into a warehouse: a sync that is started, killed, and at last run to its end."""

    def __init__(self, folder, source, options):
        self.folder, self.process, self.kills = folder, None, 0
        self.command = [PROGRAM, "--warehouse", str(folder / "warehouse"), "sync", source, "--database", "shop", "--commit-every", "50ms", *options]
        folder.mkdir()

    def start(self):
        if self.process is None:
            with open(self.folder / f"sync-{self.kills}.log", "w") as log:
                self.process = subprocess.Popen(self.command, stdout=log, stderr=log, cwd=self.folder)

    def kill(self):
        if self.process is not None:
            ended = self.process.poll()
            self.process.kill()
            self.process.wait()
            self.process = None
            if ended is not None:
                raise AssertionError(f"sync ended with {ended}: {(self.folder / f'sync-{self.kills}.log').read_text()}")
            self.kills += 1

    def to_the_end(self):
        done = subprocess.run([*self.command, "--once"], capture_output=True, text=True, timeout=120, cwd=self.folder)
        if done.returncode != 0:
            raise AssertionError(f"sync: {done.stdout}\n{done.stderr}")

    def lines(self, *arguments):
        command = [PROGRAM, "--warehouse", str(self.folder / "warehouse"), *arguments, "--format", "jsonl"]
        return [load(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]

    def check(self, table):
        """Every file and every change of the table against the rest of it."""
        command = [PROGRAM, "--warehouse", str(self.folder / "warehouse"), "check", f"shop.{table}", "--changelog"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"check {table}: {done.stdout}\n{done.stderr}")

    def newest(self, table):
        return self.lines("show", "snapshots", f"shop.{table}")[-1]["snapshot"]


class TwoRoutes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-debezium-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.server = Postgres()
        self.addCleanup(self.server.__exit__)
        self.server.__enter__()
        self.broker = kafka_broker.Broker(self.folder / "broker")
        self.addCleanup(self.broker.stop)
        self.broker.start()
        self.debezium = peers.debezium()
        self.addCleanup(self.debezium.close)
        self.addCleanup(print, f"seed {SEED}: HEADRACE_SEED={SEED} plays the same kills")

    def start_debezium(self):
        self.debezium.start(address=self.broker.address, topics={f"shop.public.{table}": n for table, n in PARTITIONS.items()}, properties={
            "name": "shop", "topic.prefix": "shop", "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "database.hostname": "127.0.0.1", "database.port": str(self.server.port), "database.user": "admin", "database.password": "none",
            "database.dbname": "shop", "plugin.name": "pgoutput", "slot.name": "debezium", "publication.name": "debezium",
            "publication.autocreate.mode": "filtered", "table.include.list": ",".join(f"public.{table}" for table in TABLES),
            "poll.interval.ms": "20"})

    def wait_for(self, what, seconds=60):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "did not come to pass")
            time.sleep(0.1)

    def produced(self, table):
        return int(self.debezium.counts().get(f"shop.public.{table}", 0))

    def source_rows(self, table):
        return [load(line) for line in self.server.sql(f"SELECT row_to_json(t) FROM {table} t")]

    def traffic(self):
        scripts = []
        for name, text, weight in (("bank", BANK, 4), ("shop", SHOP, 4), ("large", LARGE, 1)):
            path = self.folder / f"{name}.sql"
            path.write_text(text)
            scripts += ["-f", f"{path}@{weight}"]
        return self.server.pgbench("-n", *scripts, "-c", "3", "-t", "300", "-R", "100", "--random-seed", SEED)

    def test_both_routes_hold_the_servers_rows_and_each_change_once(self):
        self.server.sql(SETUP)
        before = {table: self.source_rows(table) for table in TABLES}
        topics = ",".join(f"shop.public.{table}" for table in TABLES)
        direct = Route(self.folder / "direct", self.server.uri(), ["--tables", ",".join(f"public.{table}" for table in TABLES)])
        through = Route(self.folder / "through", f"kafka://{self.broker.address}/{topics}",
                        ["--format", "debezium-json", "--option", "changelog-producer=input"])
        direct.to_the_end()
        copied = {table: direct.newest(table) for table in WHOLE}
        self.start_debezium()
        self.wait_for(lambda: all(self.produced(table) == len(before[table]) for table in TABLES))

        dice = random.Random(SEED)
        bench = self.traffic()
        self.addCleanup(lambda: bench.poll() is None and (bench.kill(), bench.wait()))
        for route in (direct, through):
            self.addCleanup(route.kill)
        while bench.poll() is None:
            for route in (direct, through):
                route.start()
            time.sleep(dice.uniform(0.05, 1.0))
            for route in (direct, through):
                if dice.random() < 0.6:
                    route.kill()
        self.assertEqual(bench.returncode, 0)
        for route in (direct, through):
            route.kill()
            self.assertGreater(route.kills, 3)

        self.server.sql("INSERT INTO done VALUES (1)")
        self.wait_for(lambda: self.produced("done") == 1)
        for name, route in (("directly", direct), ("through Kafka", through)):
            route.to_the_end()
            for table in TABLES:
                with self.subTest(route=name, table=table):
                    self.assertEqual(sorted(map(plain, route.lines("read", f"shop.{table}"))), sorted(map(plain, self.source_rows(table))))
        for table in WHOLE:
            with self.subTest(route="directly", changes=table):
                self.assert_changes(direct.lines("changes", f"shop.{table}", "--from-snapshot", str(copied[table] + 1)), self.audited(table))
            with self.subTest(route="through Kafka", changes=table):
                copies = collections.Counter(("+I", plain(row)) for row in before[table])
                self.assert_changes(through.lines("changes", f"shop.{table}"), self.audited(table) + copies)
        for route in (direct, through):
            for table in TABLES:
                route.check(table)
        self.debezium.stop()

    def audited(self, table):
        """The changes that the triggers saw. An update that changes the key is a delete and an insert."""
        key = {"accounts": "aid", "tellers": "tid", "orders": "id"}[table]
        expected = collections.Counter()
        for line in self.server.sql(f"SELECT op, coalesce(old_row, ''), coalesce(new_row, '') FROM audit WHERE tab = '{table}'"):
            op, old, new = line.split("\t")
            old, new = (load(text) if text else None for text in (old, new))
            if op == "INSERT":
                kinds = [("+I", new)]
            elif op == "DELETE":
                kinds = [("-D", old)]
            elif old[key] == new[key]:
                kinds = [("-U", old), ("+U", new)]
            else:
                kinds = [("-D", old), ("+I", new)]
            for kind, row in kinds:
                expected[kind, plain(row)] += 1
        self.assertGreater(len(expected), 100)
        return expected

    def assert_changes(self, changes, expected):
        found = collections.Counter((change["_rowkind"], plain(change)) for change in changes)
        self.assertEqual(found - expected, collections.Counter(), "changes that nobody made")
        self.assertEqual(expected - found, collections.Counter(), "changes that are missing")


if __name__ == "__main__":
    unittest.main(verbosity=2)
