"""Avro from Kafka: a real broker, a real schema registry (Apicurio's), and messages as Kafka Connect's Avro converter writes them."""

import base64
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
import schema_registry  # noqa: E402

CDC = peers.FIXTURES / "cdc"
PROGRAM = os.environ.get("HEADRACE_PROGRAM") or str(peers.ROOT / "build" / "bin" / "headrace")
RANDOM = random.Random(int(os.environ.get("HEADRACE_SEED", "7")))


def lines_of(path):
    text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout if path.suffix == ".zst" else path.read_bytes()
    return text.decode().split("\n")[:-1]


def events_of(name):
    path = CDC / f"{name}.debezium-schema.jsonl"
    return lines_of(path if path.exists() else path.with_suffix(".jsonl.zst"))


def keys_of(name):
    return [json.loads(line) for line in lines_of(CDC / f"{name}.debezium.keys.jsonl")]


def with_schema(key, event, topic):
    """A key with the schema that the connector gives it: the fields of the row."""
    (row,) = [field for field in event["schema"]["fields"] if field["field"] == "after"]
    fields = [{**field, "optional": False} for name in key for field in row["fields"] if field["field"] == name]
    return {"schema": {"type": "struct", "fields": fields, "optional": False, "name": f"{topic}.Key"}, "payload": key}


def text(part):
    return None if part is None else base64.b64encode(part).decode()


class KafkaAvro(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-avro-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.broker = kafka_broker.Broker(cls.folder / "broker")
        cls.addClassCleanup(cls.broker.stop)
        cls.broker.start()
        cls.registry = schema_registry.Registry(cls.folder / "registry")
        cls.addClassCleanup(cls.registry.stop)
        cls.registry.start()
        cls.encoder = schema_registry.Encoder(cls.registry.address)
        cls.addClassCleanup(cls.encoder.close)
        cls.bare = schema_registry.Encoder()
        cls.addClassCleanup(cls.bare.close)
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

    def registered(self, form="debezium-avro"):
        return ["--format", form, "--schema-registry", self.registry.address]

    def rows(self, table):
        found = self.run_program("read", table, "--format", "jsonl").stdout
        return sorted(found.splitlines())

    def produce(self, values, topic=None, keys=None):
        topic = topic or self.topic
        messages = [{"value": text(value), "key": text(key)} for value, key in zip(values, keys or [None] * len(values), strict=True)]
        self.kafka.produce_bytes(topic=topic, messages=messages)

    def produce_capture(self, name, topic_of):
        """The capture's events by the converter, each into the topic that topic_of gives for its own."""
        last = {}
        messages = {}
        for line, key in zip(events_of(name), keys_of(name), strict=True):
            event, own = json.loads(line), key["topic"]
            if event is not None and any(field["field"] == "after" for field in event["schema"]["fields"]):
                last[own] = event
            if own not in last:
                continue
            headers = {header: text(self.encoder.encode(f"{own}-header", with_schema(held, last[own], own))) for header, held in key.get("headers", {}).items()}
            part = None if key["key"] is None else self.encoder.encode(f"{own}-key", with_schema(key["key"], last[own], own))
            messages.setdefault(topic_of(own), []).append({"value": text(self.encoder.encode(f"{own}-value", event)), "key": text(part), "headers": headers})
        for topic, all_of_it in messages.items():
            self.kafka.create(topic=topic)
            self.kafka.produce_bytes(topic=topic, messages=all_of_it)
        return sorted(messages)

    # ---- captures: by Avro the same rows as by JSON

    def by_json(self, name, table, source):
        packed = CDC / f"{name}.debezium-schema.jsonl.zst"
        path = packed if packed.exists() else CDC / f"{name}.debezium-schema.jsonl"
        self.run_program("ingest", table, path, "--format", "debezium-json", "--create", "--keys", CDC / f"{name}.debezium.keys.jsonl",
                         "--source-table", source, "--option", "changelog-producer=input")
        return self.rows(table)

    def test_one_table_a_topic(self):
        for name, source in (("customers", "customers"), ("orders-evolving", "orders"), ("mariadb-types.precise-adaptive", "all_types")):
            with self.subTest(capture=name):
                topic = f"{self.topic}.{name}"
                self.produce_capture(name, lambda own: topic)
                plain = name.replace("-", "_").replace(".", "_")
                self.run_program("ingest", f"shop.{plain}", self.url(topic), *self.registered(), "--create", "--until-end", "--source-table", source,
                                 "--option", "changelog-producer=input")
                self.assertEqual(self.rows(f"shop.{plain}"), self.by_json(name, f"shop.{plain}_json", source))
                self.assertGreater(len(self.rows(f"shop.{plain}")), 2)

    def test_several_tables_by_sync_with_key_changes_and_values_that_were_not_sent(self):
        self.produce_capture("pk-change", lambda own: self.topic)
        self.run_program("sync", self.url(), *self.registered(), "--database", "shop", "--once", "--tables", "accounts,documents,documents_full,order_lines")
        for source in ("accounts", "documents", "documents_full", "order_lines"):
            self.assertEqual(self.rows(f"shop.{source}"), self.by_json("pk-change", f"shop.{source}_json", source), source)

    # ---- exactly once

    def event(self, op, number, name):
        row = {"id": number, "name": name}
        fields = [{"type": "int64", "optional": False, "field": "id"}, {"type": "string", "optional": True, "field": "name"}]
        image = {"type": "struct", "fields": fields, "optional": True, "name": "t.Value"}
        schema = {"type": "struct", "optional": False, "name": "t.Envelope", "fields": [
            {**image, "field": "before"}, {**image, "field": "after"}, {"type": "string", "optional": False, "field": "op"}]}
        payload = {"before": None if op == "c" else row, "after": None if op == "d" else row, "op": op}
        return self.encoder.encode("t-value", {"schema": schema, "payload": payload})

    def test_every_message_once_across_kills(self):
        self.run_program("create", "shop.t", "--schema", "id BIGINT, name STRING", "--primary-key", "id", "--option", "bucket=2")
        self.kafka.create(topic=self.topic)
        expected, count = {}, 0
        command = self.command("ingest", "shop.t", self.url(), *self.registered(), "--commit-every", "50ms")
        for round_ in range(6):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            values = []
            for _ in range(150):
                number = RANDOM.randrange(60)
                if number in expected and RANDOM.random() < 0.3:
                    del expected[number]
                    values.append(self.event("d", number, None))
                else:
                    values.append(self.event("u" if number in expected else "c", number, f"{round_}-{count}"))
                    expected[number] = f"{round_}-{count}"
                count += 1
            self.produce(values)
            time.sleep(RANDOM.uniform(0, 0.8))
            process.kill()
            process.wait()
        self.run_program("ingest", "shop.t", self.url(), *self.registered(), "--until-end")
        self.assertEqual(sorted(map(json.loads, self.rows("shop.t")), key=lambda row: row["id"]), [{"id": i, "name": expected[i]} for i in sorted(expected)])
        (job,) = self.run_program("jobs", "shop.t", "--format", "jsonl").stdout.splitlines()
        self.assertEqual(json.loads(job)["lines"], count)

    # ---- rows of Avro

    def row_schema(self, *fields):
        return {"type": "record", "name": "Row", "namespace": "shop", "fields": [{"name": name, "type": kind} for name, kind in fields]}

    def test_rows_whose_writer_changes(self):
        old = self.row_schema(("id", "long"), ("n", "int"), ("price", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}))
        new = self.row_schema(("id", "long"), ("n", "long"), ("price", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}),
                              ("at", ["null", {"type": "long", "logicalType": "timestamp-micros"}]))
        self.kafka.create(topic=self.topic)
        self.produce([self.encoder.avro("rows-value", old, {"id": 1, "n": 1, "price": "\x04\xd2"}), self.encoder.avro("rows-value", old, {"id": 2, "n": 2, "price": "\xff"})])
        create = ["--create", "--primary-key", "id", "--until-end"]
        self.run_program("ingest", "shop.rows", self.url(), *self.registered("avro"), *create)
        self.produce([self.encoder.avro("rows-value", new, {"id": 1, "n": 1 << 40, "price": "\x01", "at": {"long": 1779022800123456}})])
        done = self.run_program("ingest", "shop.rows", self.url(), *self.registered("avro"), "--until-end")
        self.assertIn("the source's table changed: retype n BIGINT", done.stderr)
        self.assertEqual(self.rows("shop.rows"), [
            '{"id":1,"n":1099511627776,"price":"0.01","at":"2026-05-17T13:00:00.123456Z"}', '{"id":2,"n":2,"price":"-0.01","at":null}'])

    def test_schemas_that_refer_to_others(self):
        address = {"type": "record", "name": "Address", "namespace": "geo", "fields": [{"name": "city", "type": "string"}]}
        self.registry.register("geo-address", address)
        number = self.registry.register("people-value", self.row_schema(("id", "int"), ("home", "geo.Address")), [{"name": "geo.Address", "subject": "geo-address", "version": 1}])
        datum = self.bare.avro("", self.row_schema(("id", "int"), ("home", address)), {"id": 7, "home": {"city": "Rio"}})
        self.kafka.create(topic=self.topic)
        self.produce([b"\0" + number.to_bytes(4, "big") + datum])
        self.run_program("ingest", "shop.people", self.url(), *self.registered("avro"), "--create", "--primary-key", "id", "--until-end")
        self.assertEqual(self.rows("shop.people"), ['{"id":7,"home":{"city":"Rio"}}'])

    def test_bare_data_of_a_schema_that_is_given(self):
        schema = self.row_schema(("id", "int"), ("plan", {"type": "enum", "name": "Plan", "symbols": ["trial", "pro"]}))
        path = self.folder / "row.avsc"
        path.write_text(json.dumps(schema))
        self.kafka.create(topic=self.topic)
        self.produce([self.bare.avro("", schema, {"id": i, "plan": plan}) for i, plan in enumerate(("trial", "pro", "pro"))])
        self.run_program("ingest", "shop.bare", self.url(), "--format", "avro", "--avro-schema", path, "--create", "--primary-key", "id", "--until-end")
        self.assertEqual(self.rows("shop.bare"), ['{"id":0,"plan":"trial"}', '{"id":1,"plan":"pro"}', '{"id":2,"plan":"pro"}'])

    # ---- what goes wrong

    def test_an_unknown_id_names_its_place_and_can_be_kept_aside(self):
        schema = self.row_schema(("id", "int"))
        self.run_program("create", "shop.bad", "--schema", "id INT", "--primary-key", "id", "--option", "bucket=1")
        self.kafka.create(topic=self.topic)
        self.produce([self.encoder.avro("bad-value", schema, {"id": 1}), b"\0\0\1\0\0\2", self.encoder.avro("bad-value", schema, {"id": 3})])
        failed = self.run_program("ingest", "shop.bad", self.url(), *self.registered("avro"), "--until-end", status=1)
        self.assertIn(f"topic {self.topic}, partition 0, offset 1: the message is of schema 65536 of the registry {self.registry.address}, which that registry does not have", failed.stderr)
        letters = self.folder / "bad.jsonl"
        self.run_program("ingest", "shop.bad", self.url(), *self.registered("avro"), "--until-end", "--on-bad-record", f"dead-letter={letters}", status=3)
        self.assertEqual(self.rows("shop.bad"), ['{"id":1}', '{"id":3}'])
        self.assertEqual(json.loads(letters.read_text())["record"], "\0\0\1\0\0\2")

    def test_a_registry_that_is_away_is_waited_for(self):
        registry = schema_registry.Registry(self.folder / "away").start()
        self.addCleanup(registry.kill)
        schema = self.row_schema(("id", "int"))
        number = registry.register("away-value", schema)
        self.run_program("create", "shop.away", "--schema", "id INT", "--primary-key", "id", "--option", "bucket=1")
        self.kafka.create(topic=self.topic)
        self.produce([b"\0" + number.to_bytes(4, "big") + self.bare.avro("", schema, {"id": 5})])
        registry.send(signal.SIGSTOP)
        command = self.command("ingest", "shop.away", self.url(), "--format", "avro", "--schema-registry", registry.address)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            self.assertIn("it is waited for", process.stderr.readline())
            registry.send(signal.SIGCONT)
            deadline = time.monotonic() + 40
            while self.rows("shop.away") != ['{"id":5}']:
                self.assertIsNone(process.poll(), "the ingest ended by itself")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.2)
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        self.assertIn("the schema registry answers again", said)

    def test_being_stopped_does_not_wait_for_a_registry(self):
        (port,) = kafka_broker.free_ports(1)
        self.run_program("create", "shop.stopped", "--schema", "id INT", "--primary-key", "id", "--option", "bucket=1")
        self.kafka.create(topic=self.topic)
        self.produce([b"\0\0\0\0\1\2"])
        command = self.command("ingest", "shop.stopped", self.url(), "--format", "avro", "--schema-registry", f"http://127.0.0.1:{port}")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=15)
        self.assertIn("it is waited for", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
