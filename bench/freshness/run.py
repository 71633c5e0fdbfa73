#!/usr/bin/env python3
"""How fresh a chain of tables is: Kafka → orders, customers → enriched orders → revenue by plan and day, by headrace and by Flink with Paimon.

usage: run.py [--engines headrace,flink] [--rates 1000,5000] [--seconds 30] [--before ORDERS] [--json FILE] [--soak SECONDS]

--before: so many orders are in all tables before the first event that counts.

--soak: for long runs of headrace. New customers come as orders do, and the orders go through a copy whose key begins with the customer, so that what an event
costs does not grow with the tables; snapshots are kept for five minutes; each SECONDS a line tells the ages of that time, the memory, and the files and megabytes of the tables.

One broker, one producer and one reader for both: the reader is `headrace changes --follow` on the first and on the third table, and an event's age is the
time from its being produced to its line being read. At the end the third table must equal the same SQL over the first ones. Peak memory is
that of the engine's processes. Needs `make build` and `scripts/bootstrap interop` with tests/interop/setup.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tests" / "services")]

import kafka_broker  # noqa: E402
import peers  # noqa: E402

PROGRAM = os.environ.get("HEADRACE_PROGRAM") or str(ROOT / "build" / "bin" / "headrace")
ORDERS_A_CUSTOMER = 80  # of a soak
WARM_SECONDS = 5  # events of this time are not counted
PATIENCE = 120
SOURCES = {"orders": "id BIGINT, customer_id BIGINT, day STRING, amount BIGINT, made_ms BIGINT", "customers": "id BIGINT, plan STRING"}
ENRICHED = "id BIGINT, plan STRING, day STRING, amount BIGINT, made_ms BIGINT"
REVENUE = "plan STRING, day STRING, amount BIGINT, orders BIGINT, last_ms BIGINT"
JOIN = "SELECT o.id, c.plan, o.day, o.amount, o.made_ms FROM shop.orders {poll} o LEFT JOIN shop.customers {poll} c ON o.customer_id = c.id"
GROUPS = "SELECT COALESCE(plan, 'none') AS plan, day, SUM(amount) AS amount, COUNT(*) AS orders, MAX(made_ms) AS last_ms FROM shop.enriched {poll} GROUP BY COALESCE(plan, 'none'), day"
POLL = "/*+ OPTIONS('continuous.discovery-interval'='100 ms') */"


class Ages(threading.Thread):
    """Follows a table and keeps how old each event was when its line came."""

    def __init__(self, warehouse, table, column):
        super().__init__(daemon=True)
        self.ages, self.count_from_ms, self._told, self._pattern = [], float("inf"), 0, re.compile(rf'"{column}":(\d+)')
        self._process = subprocess.Popen([PROGRAM, "-q", "--warehouse", warehouse, "changes", f"shop.{table}", "--follow", "--format", "jsonl",
                                          "--columns", column], stdout=subprocess.PIPE, text=True)
        self.start()

    def run(self):
        for line in self._process.stdout:
            now = time.time() * 1000
            found = self._pattern.search(line)
            if found and '"_rowkind":"+' in line and int(found[1]) >= self.count_from_ms:
                self.ages.append(now - int(found[1]))

    def since_last_time(self):
        told, self._told = self._told, len(self.ages)
        return sorted(self.ages[told:self._told])

    def stop(self):
        self._process.terminate()
        self._process.wait()
        return sorted(self.ages)


def percentile(ages, share):
    return round(ages[min(len(ages) - 1, int(len(ages) * share))]) if ages else None


def headrace(warehouse, *arguments):
    done = subprocess.run([PROGRAM, "-q", "--warehouse", warehouse, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"headrace {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def megabytes(pids, line="VmHWM"):
    """Of the processes together: the most there was, or with VmRSS what there is."""
    total = 0
    for pid in pids:
        found = re.search(rf"{line}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
        total += int(found[1])
    return round(total / 1024)


def shared_out(pids):
    """Megabytes now, pages that several processes share counted once."""
    return round(sum(int(re.search(r"Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text())[1]) for pid in pids) / 1024)


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])  # in user mode and in the kernel
    return ticks / os.sysconf("SC_CLK_TCK")


class Headrace:
    name = "headrace"

    def __init__(self, folder, warehouse, address, soak):
        kept = {"snapshot.time-retained": "5min", "snapshot.num-retained.max": "2000"} if soak else {}
        for table, columns in SOURCES.items():
            options = [part for key, value in {"bucket": "2", "changelog-producer": "input", **kept}.items() for part in ("--option", f"{key}={value}")]
            headrace(warehouse, "create", f"shop.{table}", "--schema", columns, "--primary-key", "id", *options)
        pipeline = folder / "chain.sql"
        kept = "".join(f", '{key}' = '{value}'" for key, value in kept.items())
        with_ = "WITH ('bucket' = '{}', 'changelog-producer' = '{}'" + kept + ");\n"
        copy = (f"CREATE TABLE shop.by_customer ({SOURCES['orders']}, PRIMARY KEY (customer_id, id) NOT ENFORCED) {with_.format(2, 'input')}"
                "INSERT INTO shop.by_customer SELECT * FROM shop.orders;\n")
        join, enriched, key = JOIN.format(poll=""), ENRICHED, "id"
        if soak:
            join = join.replace("shop.orders", "shop.by_customer").replace("SELECT", "SELECT o.customer_id,")
            enriched, key = "customer_id BIGINT, " + ENRICHED, "customer_id, id"
        pipeline.write_text((copy if soak else "") +
                            f"CREATE TABLE shop.enriched ({enriched}, PRIMARY KEY ({key}) NOT ENFORCED) {with_.format(2, 'lookup')}"
                            f"CREATE TABLE shop.revenue ({REVENUE}, PRIMARY KEY (plan, day) NOT ENFORCED) {with_.format(1, 'lookup')}"
                            f"INSERT INTO shop.enriched {join};\n"
                            f"INSERT INTO shop.revenue {GROUPS.format(poll='')};\n")
        headrace(warehouse, "run", str(pipeline), "--once")
        start = [[PROGRAM, "-q", "--warehouse", warehouse, "ingest", f"shop.{t}", f"kafka://{address}/{t}", "--format", "debezium-json",
                  "--commit-every", "200ms"] for t in SOURCES]
        start.append([PROGRAM, "-q", "--warehouse", warehouse, "run", str(pipeline), "--every", "200ms"])
        self.processes = [subprocess.Popen(command) for command in start]

    def check(self):
        for process in self.processes:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args} has ended with {process.returncode}")

    def pids(self):
        return [process.pid for process in self.processes]

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGINT)
        for process in self.processes:
            process.wait(60)


def flink_libraries():
    """Brings the connector and the format once; the folder they are in."""
    folder = ROOT / "build" / "freshness" / "lib"
    if not list(folder.glob("*kafka*.jar")):
        subprocess.run(["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], check=True)
    return folder


class Flink:
    name = "flink"

    def __init__(self, folder, warehouse, address, soak):
        command = peers.flink()._command
        place = command.index("-cp") + 1
        self.peer = peers.Peer("flink", [*command[:place], f"{command[place]}:{flink_libraries()}/*", *command[place + 1:]])
        ddl = []
        producer = {"orders": "input", "customers": "input", "enriched": "lookup", "revenue": "lookup"}
        columns = {**SOURCES, "enriched": ENRICHED, "revenue": REVENUE}
        for table, buckets in {"orders": 2, "customers": 2, "enriched": 2, "revenue": 1}.items():
            key = "plan, day" if table == "revenue" else "id"
            text = columns[table].replace("day ", "`day` ")
            ddl.append(f"CREATE TABLE shop.{table} ({text}, PRIMARY KEY ({key.replace('day', '`day`')}) NOT ENFORCED) WITH ('bucket' = '{buckets}', "
                       f"'changelog-producer' = '{producer[table]}')")
        self.peer.run(warehouse=warehouse, mode="streaming", sql=["CREATE DATABASE IF NOT EXISTS shop", *ddl])
        for table, text in SOURCES.items():
            text = text.replace("day ", "`day` ")
            self.peer.run(warehouse=warehouse, mode="streaming", sql=[
                f"CREATE TEMPORARY TABLE topic_{table} ({text}) WITH ('connector' = 'kafka', 'topic' = '{table}', 'properties.bootstrap.servers' = '{address}', "
                "'scan.startup.mode' = 'earliest-offset', 'format' = 'debezium-json')"])
        jobs = {"orders": "INSERT INTO shop.orders SELECT * FROM topic_orders", "customers": "INSERT INTO shop.customers SELECT * FROM topic_customers",
                "enriched": "INSERT INTO shop.enriched " + JOIN.format(poll=POLL).replace(".day", ".`day`"),
                "revenue": "INSERT INTO shop.revenue " + GROUPS.format(poll=POLL).replace(" day", " `day`")}
        for name, sql in jobs.items():
            self.peer.start(warehouse=warehouse, name=name, sql=sql)
        self.jobs = list(jobs)

    def check(self):
        for name in self.jobs:
            self.peer.status(name=name)

    def pids(self):
        return [self.peer._process.pid]

    def stop(self):
        self.peer.close()  # the jobs end with their cluster


def agrees(warehouse):
    """The third table and the same SQL over the first ones."""
    whole = GROUPS.format(poll="").replace("shop.enriched", f"({JOIN.format(poll='')})")
    differing = f"(FROM shop.revenue EXCEPT ({whole})) UNION ALL (({whole}) EXCEPT FROM shop.revenue)"
    return json.loads(headrace(warehouse, "sql", "--format", "jsonl", "-c", f"SELECT count(*) AS n FROM ({differing})"))["n"] == 0


def orders_in(warehouse):
    return int(json.loads(headrace(warehouse, "sql", "--format", "jsonl", "-c", "SELECT coalesce(sum(orders), 0) AS n FROM shop.revenue"))["n"])


def wait_for_orders(engine, warehouse, count):
    began = time.monotonic()
    while count > 0 and orders_in(warehouse) < count:
        engine.check()
        if time.monotonic() - began > 10 * PATIENCE:
            raise RuntimeError(f"{engine.name}: the {count} orders before do not come to the third table")
        time.sleep(0.5)


def file_sizes(folder):
    sizes = []
    for path in pathlib.Path(folder).rglob("*"):
        try:
            if path.is_file():
                sizes.append(path.stat().st_size)
        except FileNotFoundError:  # expired meanwhile
            pass
    return sizes


def tell(engine, warehouse, ages, began):
    files = file_sizes(warehouse)
    since = [each.since_last_time() for each in ages]
    print(json.dumps({"at_s": round(time.monotonic() - began), "first_p50_ms": percentile(since[0], 0.5), "first_p99_ms": percentile(since[0], 0.99),
                      "third_p50_ms": percentile(since[1], 0.5), "third_p99_ms": percentile(since[1], 0.99), "rss_mb": megabytes(engine.pids(), "VmRSS"),
                      "files": len(files), "mb": round(sum(files) / 1e6)}), flush=True)


def measure(engine_class, rate, seconds, folder, soak, before):
    warehouse = str(folder / "warehouse")
    broker = kafka_broker.Broker(folder / "kafka").start()
    engine = producer = None
    try:
        client = peers.kafka(broker.address)
        for topic in SOURCES:
            client.create(topic=topic, partitions=1)
        client.close()
        per_customer = ORDERS_A_CUSTOMER if soak else 0
        producer = subprocess.Popen([str(peers.KAFKA_VENV / "bin" / "python"), str(HERE / "produce.py"), broker.address, str(rate), str(seconds), "7", str(before), str(per_customer)],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        producer.stdout.readline()
        engine = engine_class(folder, warehouse, broker.address, soak)
        time.sleep(5)
        wait_for_orders(engine, warehouse, before)
        first, third = Ages(warehouse, "orders", "made_ms"), Ages(warehouse, "revenue", "last_ms")
        time.sleep(1)
        first.count_from_ms = third.count_from_ms = time.time() * 1000 + WARM_SECONDS * 1000
        producer.stdin.write("go\n")
        producer.stdin.flush()
        began, cpu = time.monotonic(), cpu_seconds(engine.pids())
        while soak and time.monotonic() - began < seconds - soak / 2:
            time.sleep(soak)
            engine.check()
            tell(engine, warehouse, (first, third), began)
        produced = int(producer.stdout.readline())
        producer.wait()
        drained = time.monotonic()
        while not agrees(warehouse) or orders_in(warehouse) == 0:
            engine.check()
            if time.monotonic() - drained > PATIENCE:
                raise RuntimeError(f"{engine.name} at {rate}/s: the third table does not come to what it should be")
            time.sleep(0.5)
        drained = time.monotonic() - drained
        memory, shared, cpu = megabytes(engine.pids()), shared_out(engine.pids()), cpu_seconds(engine.pids()) - cpu
        ages = [first.stop(), third.stop()]
        return {"engine": engine.name, "rate": rate, "orders": produced, "first_p50_ms": percentile(ages[0], 0.5), "first_p99_ms": percentile(ages[0], 0.99),
                "third_p50_ms": percentile(ages[1], 0.5), "third_p99_ms": percentile(ages[1], 0.99), "drained_s": round(drained, 1), "peak_mb": memory, "end_pss_mb": shared, "cpu_s": round(cpu, 1)}
    finally:
        if producer is not None and producer.poll() is None:
            producer.kill()
        if engine is not None:
            engine.stop()
        broker.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="headrace,flink")
    parser.add_argument("--rates", default="1000,5000")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("--before", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.soak and arguments.engines != "headrace":
        parser.error("--soak is for --engines headrace")
    results = []
    for rate in map(int, arguments.rates.split(",")):
        for name in arguments.engines.split(","):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-freshness-"))
            try:
                results.append(measure({"headrace": Headrace, "flink": Flink}[name], rate, arguments.seconds, folder, arguments.soak, arguments.before))
                print(json.dumps(results[-1]), flush=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
