"""Kafka topics into tables, by a real broker: every record once across kills, places to start, gaps, transactions, new partitions."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import peers

sys.path.insert(0, str(peers.ROOT / "tests" / "services"))
import kafka_broker  # noqa: E402

CDC = peers.FIXTURES / "cdc"
PROGRAM = os.environ.get("HEADRACE_PROGRAM") or str(peers.ROOT / "build" / "bin" / "headrace")
DEBEZIUM = ["--format", "debezium-json"]
RANDOM = random.Random(int(os.environ.get("HEADRACE_SEED", "7")))


def lines_of(name):
    path = CDC / name
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True, text=True).stdout.split("\n")[:-1]
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def customer(number, name="n"):
    return json.dumps({"before": None, "after": {"id": number, "name": name}, "op": "c"})


class Kafka(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.broker = kafka_broker.Broker(cls.folder / "broker")
        cls.addClassCleanup(cls.broker.stop)
        cls.broker.start()
        cls.kafka = peers.kafka(cls.broker.address)
        cls.addClassCleanup(cls.kafka.close)

    def setUp(self):
        self.name = self.id().rsplit(".", 1)[1]
        self.warehouse = self.folder / self.name
        self.topic = self.name.replace("_", "-")

    def command(self, *arguments):
        return [PROGRAM, "--warehouse", str(self.warehouse), *map(str, arguments)]

    def run_program(self, *arguments, status=0):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def url(self, topic=None):
        return f"kafka://{self.broker.address}/{topic or self.topic}"

    def ingest(self, table, *arguments, status=0, topic=None):
        return self.run_program("ingest", table, self.url(topic), *DEBEZIUM, *arguments, status=status)

    def make(self, schema="id BIGINT, name STRING", key="id", table="shop.t", *options):
        self.run_program("create", table, "--schema", schema, "--primary-key", key, "--option", "bucket=2", *options)
        return table

    def rows(self, table):
        text = self.run_program("read", table, "--format", "jsonl").stdout
        return sorted((json.loads(line) for line in text.splitlines()), key=lambda row: json.dumps(row, sort_keys=True))

    def job(self, table):
        jobs = self.run_program("jobs", table, "--format", "jsonl").stdout.splitlines()
        self.assertEqual(len(jobs), 1, jobs)
        return json.loads(jobs[0])

    def group_of(self, table):
        return "headrace-" + self.job(table)["job"]

    def follow(self, table, *arguments):
        return subprocess.Popen(self.command("ingest", table, self.url(), *DEBEZIUM, *arguments), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def end(self, process, how=signal.SIGINT):
        process.send_signal(how)
        process.wait(60)
        text = process.stderr.read()
        process.stderr.close()
        return text

    def wait_for_rows(self, table, count):
        deadline = time.monotonic() + 60
        while len(self.rows(table)) != count:
            self.assertLess(time.monotonic(), deadline, f"{len(self.rows(table))} rows, {count} wanted")
            time.sleep(0.1)

    # ---- captures

    def expected(self, name, source):
        found = []
        for line in lines_of(name):
            row = json.loads(line)
            if row["table"] == source:
                found.append(row["row"])
        return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))

    def test_a_capture_ends_in_the_rows_of_the_source(self):
        for capture in ("customers", "customers-default-identity"):
            for partitions in (1, 3):
                with self.subTest(capture=capture, partitions=partitions):
                    topic, table = f"{self.topic}.{capture}.{partitions}", f"shop.{capture.replace('-', '_')}_{partitions}"
                    self.kafka.create(topic=topic, partitions=partitions)
                    self.kafka.produce(topic=topic, partitions=partitions, values=lines_of(f"{capture}.debezium-schema.jsonl"),
                                       keys=lines_of(f"{capture}.debezium.keys.jsonl"))
                    self.ingest(table, "--create", "--until-end", "--option", "changelog-producer=input", topic=topic)
                    self.assertEqual(self.rows(table), self.expected(f"{capture}.expected.jsonl", "public.customers"))

    def test_key_changes_with_values_that_were_not_sent_find_them(self):
        values, keys = lines_of("pk-change.debezium-schema.jsonl.zst"), lines_of("pk-change.debezium.keys.jsonl")
        for source in ("accounts", "documents", "documents_full"):
            with self.subTest(source=source):
                chosen = [i for i, k in enumerate(keys) if json.loads(k)["topic"].endswith(f"public.{source}") and '"op":"t"' not in values[i]]
                topic, table = f"{self.topic}.{source}", f"shop.{source}"
                self.kafka.create(topic=topic)
                self.kafka.produce(topic=topic, partition=0, values=[values[i] for i in chosen], keys=[keys[i] for i in chosen])
                self.ingest(table, "--create", "--until-end", "--commit-every", "1", topic=topic)
                self.assertEqual(self.plain(self.rows(table)), self.plain(self.expected("pk-change.expected.jsonl", f"public.{source}")))

    def plain(self, rows):
        """Bytes without PostgreSQL's \\x, and JSON texts as what they hold."""
        def cell(value):
            if not isinstance(value, str):
                return value
            return json.loads(value) if value.startswith("{") else value.removeprefix("\\x")

        return [{name: cell(value) for name, value in row.items()} for row in rows]

    # ---- exactly once

    def test_kills_at_random_leave_every_change_once(self):
        values, keys = lines_of("pgbench.debezium.jsonl.zst"), lines_of("pgbench.debezium.keys.jsonl.zst")
        chosen = [i for i, v in enumerate(values) if '"table":"accounts"' in v]
        self.assertGreater(len(chosen), 4000)
        self.kafka.create(topic=self.topic, partitions=3)
        self.make("aid BIGINT, bid BIGINT, abalance BIGINT, filler STRING", "aid", "shop.t", "--option", "changelog-producer=input")

        step, kills, process = 300, 0, None
        for begin in range(0, len(chosen), step):
            part = chosen[begin:begin + step]
            if process is None:
                process = self.follow("shop.t", "--commit-every", "30ms")
            self.kafka.produce(topic=self.topic, partitions=3, values=[values[i] for i in part], keys=[keys[i] for i in part])
            time.sleep(RANDOM.uniform(0, 0.25))
            if RANDOM.random() < 0.7:
                self.end(process, signal.SIGKILL)
                kills, process = kills + 1, None
        if process is not None:
            self.end(process)
        last = self.ingest("shop.t", "--until-end")
        self.assertGreater(kills, 5)

        job = self.job("shop.t")
        self.assertEqual(job["lines"], len(chosen))
        self.assertEqual(job["applied"] + job["ignored"], len(chosen))
        self.assertEqual(self.rows("shop.t"), self.model([values[i] for i in chosen], "aid"))
        changes = self.run_program("changes", "shop.t", "--format", "jsonl").stdout.splitlines()
        self.assertEqual(len(changes), job["rows"])
        ends = self.kafka.ends(topic=self.topic)
        self.assertEqual(self.kafka.group(group=self.group_of("shop.t"), topic=self.topic),
                         {str(i): high for i, (_, high) in enumerate(ends)}, last.stderr)

    def model(self, values, key):
        rows = {}
        for value in values:
            event = json.loads(value)
            if event is None:
                continue
            if event["op"] == "d":
                rows.pop(event["before"][key])
            else:
                rows[event["after"][key]] = event["after"]
        return sorted(rows.values(), key=lambda row: json.dumps(row, sort_keys=True))

    def test_a_broker_that_goes_away_and_comes_back_is_waited_for(self):
        self.kafka.create(topic=self.topic)
        self.kafka.produce(topic=self.topic, partition=0, values=[customer(i) for i in range(10)])
        self.make()
        process = self.follow("shop.t", "--commit-every", "100ms")
        self.wait_for_rows("shop.t", 10)
        self.broker.kill()
        time.sleep(3)
        self.broker.start()
        self.kafka.produce(topic=self.topic, partition=0, values=[customer(i) for i in range(10, 20)])
        self.wait_for_rows("shop.t", 20)
        said = self.end(process)
        self.assertIn("no broker answers", said)
        self.assertEqual(self.job("shop.t")["lines"], 20)
        self.assertEqual(process.returncode, 0)

    def test_stopping_does_not_wait_for_a_broker_that_is_away(self):
        self.kafka.create(topic=self.topic)
        self.kafka.produce(topic=self.topic, partition=0, values=[customer(i) for i in range(10)])
        self.make()
        process = self.follow("shop.t", "--commit-every", "100ms")
        self.wait_for_rows("shop.t", 10)
        self.broker.kill()
        time.sleep(1)
        started = time.monotonic()
        self.end(process)
        self.assertLess(time.monotonic() - started, 10)
        self.broker.start()

    # ---- where it begins, and what is not there

    def test_a_new_job_begins_where_it_is_told(self):
        self.kafka.create(topic=self.topic, partitions=2)
        for partition in (0, 1):
            self.kafka.produce(topic=self.topic, partition=partition, values=[customer(10 * partition + i) for i in range(5)])
        time.sleep(0.1)
        now = int(time.time() * 1000)
        time.sleep(0.1)
        self.kafka.produce(topic=self.topic, partition=1, values=[customer(100), customer(101)])
        iso = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now / 1000)) + f".{now % 1000:03}Z"
        for n, (start, count) in enumerate({"earliest": 12, "latest": 0, f"timestamp:{now}": 2, f"timestamp:{iso}": 2, "offsets:0=4,1=6": 2,
                                            f"timestamp:{now + 10**7}": 0}.items()):
            with self.subTest(start=start):
                table = self.make(table=f"shop.t{n}")
                self.ingest(table, "--start", start, "--until-end")
                self.assertEqual(len(self.rows(table)), count)

    def test_a_gap_is_an_error_that_names_it(self):
        self.kafka.create(topic=self.topic, partitions=2)
        self.kafka.produce(topic=self.topic, partition=1, values=[customer(i) for i in range(10)])
        self.make()
        self.ingest("shop.t", "--until-end")
        self.kafka.produce(topic=self.topic, partition=1, values=[customer(i) for i in range(10, 20)])
        self.kafka.delete_before(topic=self.topic, offsets={"1": 15})
        failed = self.ingest("shop.t", "--until-end", status=1)
        self.assertIn(f"topic {self.topic}, partition 1: offset 10 is wanted, the partition has offsets 15 up to before 20", failed.stderr)
        self.assertEqual(len(self.rows("shop.t")), 10)
        self.ingest("shop.t", "--until-end", "--again")
        self.assertEqual(len(self.rows("shop.t")), 15)

    def test_a_new_partition_is_read_from_its_first_record(self):
        self.kafka.create(topic=self.topic)
        self.kafka.produce(topic=self.topic, partition=0, values=[customer(0)])
        self.make()
        process = self.follow("shop.t", "--commit-every", "100ms", "--start", "latest")
        time.sleep(1)
        self.kafka.grow(topic=self.topic, partitions=3)
        self.kafka.produce(topic=self.topic, partition=2, values=[customer(i) for i in range(1, 6)])
        self.wait_for_rows("shop.t", 5)
        self.assertIn("partition 2 is new", self.end(process))
        self.assertIn(f"{self.topic}/2 to offset 5", self.job("shop.t")["inputs"])

    def test_only_committed_transactions_are_read_and_their_marks_are_passed_over(self):
        self.kafka.create(topic=self.topic)
        self.make()
        for number, how in enumerate(("commit", "abort", "commit", "abort")):
            self.kafka.produce(topic=self.topic, partition=0, values=[customer(10 * number + i) for i in range(3)], transaction=how)
        self.ingest("shop.t", "--until-end")
        self.assertEqual([row["id"] for row in self.rows("shop.t")], [0, 1, 2, 20, 21, 22])
        self.assertIn(f"{self.topic}/0 to offset 16", self.job("shop.t")["inputs"])
        self.assertIn("0 records read", self.ingest("shop.t", "--until-end").stderr)

    def test_an_unknown_topic_and_a_wrong_address_are_errors(self):
        self.make()
        self.assertIn("know no topic", self.ingest("shop.t", "--until-end", status=1).stderr)
        self.kafka.create(topic=self.topic)
        self.assertIn("sasl", self.ingest("shop.t", "--until-end", "--kafka-option", "security.protocol=SASL_PLAINTEXT", "--kafka-option",
                                          "sasl.mechanisms=OAUTHBEARERX", status=1).stderr.lower())

    # ---- changes out

    def customers(self, *options):
        self.run_program("create", "shop.out", "--schema", "id BIGINT, name STRING", "--primary-key", "id", "--option", "bucket=2",
                         "--option", "changelog-producer=input", *options)
        return "shop.out"

    def change(self, table, lines):
        path = self.folder / f"{self.name}-{time.monotonic_ns()}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run_program("ingest", table, path, "--format", "json", "--kind-column", "op")

    def test_changes_go_to_a_topic_under_their_keys_and_come_back_equal(self):
        table = self.customers()
        self.kafka.create(topic=self.topic, partitions=3)
        self.change(table, [{"op": "+I", "id": i, "name": "a"} for i in range(50)])
        self.change(table, [line for i in range(25) for line in ({"op": "-U", "id": i, "name": "a"}, {"op": "+U", "id": i, "name": "b"})])
        self.change(table, [{"op": "-D", "id": i, "name": "b"} for i in range(5)])
        done = self.run_program("changes", table, "--to", self.url(), "--consumer", "mirror", "--tombstones")
        self.assertIn("consumer mirror is at snapshot", done.stderr)
        messages = self.kafka.consume(topic=self.topic)
        self.assertEqual(len(messages), 50 + 25 + 5 + 5)
        places = {}
        for message in messages:
            places.setdefault(message["key"], set()).add(message["partition"])
            if message["value"] is not None:
                event = json.loads(message["value"])
                self.assertEqual(json.loads(message["key"]), {"id": (event["after"] or event["before"])["id"]})
        self.assertTrue(all(len(found) == 1 for found in places.values()), places)
        self.assertEqual([json.loads(m["value"])["op"] if m["value"] else None for m in messages if m["key"] == '{"id":3}'], ["c", "u", "d", None])
        self.ingest(self.make(table="shop.back"), "--until-end")
        self.assertEqual(self.rows("shop.back"), self.rows(table))
        self.run_program("changes", table, "--to", self.url(), "--consumer", "mirror")
        self.assertEqual(len(self.kafka.consume(topic=self.topic)), len(messages))

    def test_a_killed_sender_sends_every_change_at_least_once_and_in_order(self):
        table = self.customers()
        self.kafka.create(topic=self.topic, partitions=2)
        command = self.command("changes", table, "--to", self.url(), "--consumer", "mirror", "--follow")
        for round_ in range(8):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.change(table, [{"op": "+U", "id": i, "name": f"{round_:03}"} for i in range(200)])
            time.sleep(RANDOM.uniform(0, 0.6))
            process.kill()
            process.wait()
        self.run_program("changes", table, "--to", self.url(), "--consumer", "mirror")
        seen = {}
        for message in self.kafka.consume(topic=self.topic):
            seen.setdefault(message["key"], []).append(json.loads(message["value"])["after"]["name"])
        self.assertEqual(len(seen), 200)
        for names in seen.values():
            self.assertEqual(sorted(set(names)), [f"{i:03}" for i in range(8)])
            # What comes again comes again in order, from some place on.
            first = [name for i, name in enumerate(names) if name not in names[:i]]
            self.assertEqual(first, sorted(first))
        self.ingest(self.make(table="shop.back"), "--until-end")
        self.assertEqual(self.rows("shop.back"), self.rows(table))

    def test_a_message_that_is_too_large_is_an_error_and_the_consumer_stays(self):
        table = self.customers()
        self.kafka.create(topic=self.topic)
        self.change(table, [{"op": "+I", "id": 1, "name": "x" * 2_000_000}])
        failed = self.run_program("changes", table, "--to", self.url(), "--consumer", "mirror", status=1)
        self.assertIn("message.max.bytes", failed.stderr)
        consumer = self.warehouse / "shop.db" / "out" / "consumer" / "consumer-mirror"
        self.assertEqual(json.loads(consumer.read_text()), {"nextSnapshot": 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
