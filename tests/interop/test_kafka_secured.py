"""TLS and SASL: a real broker whose second listener wants both, with certificates of an authority that the test makes; and a registry behind TLS."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import peers

sys.path.insert(0, str(peers.ROOT / "tests" / "services"))
import kafka_broker  # noqa: E402

PROGRAM = os.environ.get("HEADRACE_PROGRAM") or str(peers.ROOT / "build" / "bin" / "headrace")
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="in-plain";'


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def authority(folder, name):
    """A certificate authority: its key and its certificate."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate)
    return key, certificate


def signed(folder, name, by):
    """A key with a certificate for localhost, in one file as Java and Python read it."""
    key, request, certificate, names, both = (folder / f"{name}.{end}" for end in ("key", "csr", "crt", "ext", "both.pem"))
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", request)
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", request, "-CA", by[1], "-CAkey", by[0], "-CAcreateserial", "-days", "2", "-extfile", names, "-out", certificate)
    both.write_text(key.read_text() + certificate.read_text())
    return both


class KafkaSecured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-secured-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        own = authority(cls.folder, "own")
        cls.authority, cls.other = own[1], authority(cls.folder, "other")[1]
        cls.certificate = signed(cls.folder, "broker", own)
        cls.broker = kafka_broker.Broker(cls.folder / "broker", secured="SASL_SSL", properties={
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(cls.certificate),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": PLAIN,
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": SCRAM,
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": SCRAM,
        }, format_arguments=["--add-scram", "SCRAM-SHA-256=[name=alice,password=of-scram]", "--add-scram", "SCRAM-SHA-512=[name=alice,password=of-scram]"])
        cls.addClassCleanup(cls.broker.stop)
        cls.broker.start()
        cls.kafka = peers.kafka(cls.broker.address)
        cls.addClassCleanup(cls.kafka.close)

    def setUp(self):
        self.name = self.id().rsplit(".", 1)[1]
        self.warehouse = self.folder / self.name
        self.topic = self.name.replace("_", "-")
        self.kafka.create(topic=self.topic)
        self.kafka.produce(topic=self.topic, partitions=1, values=[json.dumps({"id": i, "name": "n"}) for i in range(3)])

    def command(self, *arguments):
        return [PROGRAM, "--warehouse", str(self.warehouse), *map(str, arguments)]

    def run_program(self, *arguments, status=0, seconds=60, environment=None):
        started = time.monotonic()
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        self.assertLess(time.monotonic() - started, seconds)
        return done

    def options(self, mechanism="PLAIN", password="in-plain", authority=None, protocol="SASL_SSL"):
        given = {"security.protocol": protocol, "sasl.mechanisms": mechanism, "sasl.username": "alice", "sasl.password": password, "ssl.ca.location": authority or self.authority}
        return [word for name, value in given.items() for word in ("--kafka-option", f"{name}={value}")]

    def ingest(self, table, *options, status=0, seconds=60):
        return self.run_program("ingest", table, f"kafka://{self.broker.secured_address}/{self.topic}", "--format", "json", "--create", "--primary-key", "id", "--until-end",
                                *options, status=status, seconds=seconds)

    def rows(self, table):
        return sorted(self.run_program("read", table, "--format", "jsonl").stdout.splitlines())

    def test_each_mechanism_over_tls_reads_and_writes(self):
        for mechanism, password in (("PLAIN", "in-plain"), ("SCRAM-SHA-256", "of-scram"), ("SCRAM-SHA-512", "of-scram")):
            with self.subTest(mechanism=mechanism):
                if mechanism != "PLAIN" and self.client_is_too_old_for_scram():
                    failed = self.ingest("shop.refused", *self.options(mechanism, password), status=1, seconds=30)
                    self.assertIn("Kafka 4 takes no login by SCRAM from librdkafka before 2.6.1", failed.stderr)
                    continue
                table = "shop." + mechanism.lower().replace("-", "_")
                self.ingest(table, *self.options(mechanism, password))
                self.assertEqual(len(self.rows(table)), 3)
                (job,) = self.run_program("jobs", table, "--format", "jsonl").stdout.splitlines()
                self.assertEqual(self.kafka.group(topic=self.topic, group="headrace-" + json.loads(job)["job"]), {"0": 3})
                out = f"{self.topic}-{mechanism.lower()}"
                self.kafka.create(topic=out)
                self.run_program("changes", table, "--to", f"kafka://{self.broker.secured_address}/{out}", *self.options(mechanism, password))
                self.assertEqual(self.kafka.ends(topic=out), [[0, 3]])

    def client_is_too_old_for_scram(self):
        """Debian's librdkafka sends a nonce that Kafka 4 refuses; one of 2.6.1 or newer is tested like PLAIN."""
        version = subprocess.run(["pkg-config", "--modversion", "rdkafka"], capture_output=True, text=True, check=True).stdout
        return tuple(map(int, version.strip().split("."))) < (2, 6, 1)

    def test_what_is_refused_is_an_error_at_once_that_shows_no_password(self):
        for what, options, said in (
            ("password", self.options("SCRAM-SHA-256", "a-wrong-one"), "uthentication failed"),
            ("user of another mechanism", self.options("PLAIN", "a-wrong-one"), "uthentication failed"),
            ("authority", self.options(authority=self.other), "certificate"),
        ):
            with self.subTest(what=what):
                failed = self.ingest("shop.refused", *options, status=1, seconds=30)
                self.assertIn(f"reading topic {self.topic}", failed.stderr)
                self.assertIn(said, failed.stderr)
                self.assertNotIn("a-wrong-one", failed.stderr)

    def test_options_that_cannot_be_are_refused_before_anything_is_asked(self):
        for option, said in (("sasl.mechanisms=WHAT", "Unsupported SASL mechanism: WHAT"), ("security.protocol=TLS", "security.protocol"), ("ssl.ca.location=/none/such.pem", "ssl.ca.location")):
            with self.subTest(option=option):
                failed = self.ingest("shop.refused", *self.options(), "--kafka-option", option, status=1, seconds=20)
                self.assertIn(said, failed.stderr)

    def test_a_broker_that_goes_while_it_is_followed_comes_back(self):
        self.ingest("shop.followed", *self.options())
        command = self.command("ingest", "shop.followed", f"kafka://{self.broker.secured_address}/{self.topic}", "--format", "json", *self.options())
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(2)
            self.broker.stop()
            self.broker.start()
            self.kafka.produce(topic=self.topic, partitions=1, values=[json.dumps({"id": 9, "name": "after"})])
            deadline = time.monotonic() + 60
            while len(self.rows("shop.followed")) < 4:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.3)
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        self.assertNotIn("in-plain", said)

    # ---- a schema registry behind TLS and a password

    def test_a_registry_behind_tls(self):
        schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                known = self.headers.get("Authorization") == "Basic YWxpY2U6c2VjcmV0"  # alice:secret
                body = json.dumps({"schema": json.dumps(schema)} if known else {"error_code": 401}).encode()
                self.send_response(200 if known else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        topic = self.topic + "-avro"
        self.kafka.create(topic=topic)
        self.kafka.produce_bytes(topic=topic, messages=[{"value": "AAAAAAEO"}])
        port = server.server_address[1]

        def ingest(login, authority, status):
            return self.run_program("ingest", "shop.r", f"kafka://{self.broker.address}/{topic}", "--format", "avro", "--schema-registry", f"https://{login}localhost:{port}",
                                    "--create", "--primary-key", "id", "--until-end", status=status, seconds=90, environment={"SSL_CERT_FILE": str(authority)})

        self.assertIn("it refuses us (401", ingest("alice:wrong@", self.authority, 1).stderr)
        ingest("alice:secret@", self.authority, 0)
        self.assertEqual(self.rows("shop.r"), ['{"id":7}'])


if __name__ == "__main__":
    unittest.main(verbosity=2)
