#!/usr/bin/env python3
"""A real schema registry (Apicurio, from Maven, by Confluent's API) and what Kafka Connect's Avro converters write, for tests and trials.

usage: tests/services/schema_registry.py start FOLDER   prints the address, http://…; schemas are in its memory alone, the log lies in FOLDER
       tests/services/schema_registry.py stop FOLDER    ends the registry that was started there, by its own process id
       tests/services/schema_registry.py install        only brings the libraries, into build/services

As a module: Registry(folder) with start(), stop(), kill() and address; Encoder(address) with encode(subject, json). It needs a Java 17 and
Maven (scripts/bootstrap interop).
"""

import base64
import fcntl
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import kafka_broker  # noqa: E402

SERVICES = kafka_broker.LIBRARIES.parent
JAVA_OPTIONS = kafka_broker.JAVA_OPTIONS
READY_SECONDS = 90
PATH = "/apis/ccompat/v7"


def run_quietly(command):
    for wait in (2, 5, None):  # downloads fail now and then; what has arrived stays
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return
        if wait:
            time.sleep(wait)
    raise RuntimeError(f"{command[0]} fails: {done.stdout[-2000:]}")


def made(name, sources, make):
    """The folder build/services/NAME, filled once by make(folder), and again when one of the sources changes."""
    folder = SERVICES / name
    folder.mkdir(parents=True, exist_ok=True)
    wanted = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / "stamp"
        if not stamp.exists() or stamp.read_text() != wanted:
            make(folder)
            stamp.write_text(wanted)
    return folder


def copy_dependencies(pom, folder):
    run_quietly(["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"])


def registry_folder():
    pom = HERE / "schema-registry" / "pom.xml"

    def make(folder):
        copy_dependencies(pom, folder / "packed")
        (packed,) = (folder / "packed").glob("apicurio-registry-app-*.tar.gz")
        run_quietly(["tar", "-xzf", str(packed), "-C", str(folder)])
        packed.unlink()

    return made("schema-registry", [pom], make)


def encoder_folder():
    pom, source = HERE / "avro-encoder" / "pom.xml", HERE / "avro-encoder" / "AvroEncoder.java"

    def make(folder):
        copy_dependencies(pom, folder / "lib")
        run_quietly(["javac", "--release", "17", "-encoding", "UTF-8", "-nowarn", "-d", str(folder / "classes"), "-cp", f"{folder / 'lib'}/*", str(source)])

    return made("avro-encoder", [pom, source], make)


class Registry:
    """One registry on a free port of loopback. Stopped, it has forgotten its schemas."""

    def __init__(self, folder, port=None):
        self.folder = pathlib.Path(folder)
        self.port = port or kafka_broker.free_ports(1)[0]
        self._process = None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}{PATH}"

    def start(self):
        program = registry_folder()
        (jar,) = program.glob("apicurio-registry-app-*-runner.jar")
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "registry.log", "ab") as log:
            self._process = subprocess.Popen(
                ["java", *JAVA_OPTIONS, "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}", f"-Dheadrace.folder={self.folder}", "-jar", str(jar)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "registry.pid").write_text(str(self._process.pid))
        deadline = time.monotonic() + READY_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the registry does not start: {(self.folder / 'registry.log').read_text()[-2000:]}")
            time.sleep(0.1)
        return self

    def _send(self, path, body):
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), {"Content-Type": "application/vnd.schemaregistry.v1+json"})
        return json.load(urllib.request.urlopen(request, timeout=30))

    def _answers(self):
        try:
            urllib.request.urlopen(f"{self.address}/subjects", timeout=2).close()
            return True
        except OSError:
            return False

    def register(self, subject, schema, references=()):
        return self._send(f"/subjects/{subject}/versions", {"schema": json.dumps(schema), "references": list(references)})["id"]

    def schema(self, number):
        return json.load(urllib.request.urlopen(f"{self.address}/schemas/ids/{number}", timeout=30))["schema"]

    def send(self, signal_number):
        self._process.send_signal(signal_number)

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, how):
        pid_file = self.folder / "registry.pid"
        if not pid_file.exists():
            return
        pid = int(pid_file.read_text())
        if self._is_mine(pid):
            os.kill(pid, how)
            deadline = time.monotonic() + 20
            while self._is_mine(pid) and time.monotonic() < deadline:
                if self._process is not None:
                    self._process.poll()
                time.sleep(0.05)
            if self._is_mine(pid):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None
        pid_file.unlink()

    def _is_mine(self, pid):
        try:
            return f"-Dheadrace.folder={self.folder}" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            return False


class Encoder:
    """Messages as a Connect worker with an Avro converter writes them; without an address bare data."""

    def __init__(self, address=None):
        folder = encoder_folder()
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            ["java", *JAVA_OPTIONS, "-cp", f"{folder / 'classes'}:{folder / 'lib'}/*", "AvroEncoder", *([address] if address else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, encoding="utf-8")

    def _ask(self, request):
        self._process.stdin.write(json.dumps(request, ensure_ascii=False) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            status = self._process.wait()
            self._log.seek(0)
            raise RuntimeError(f"the encoder ended with status {status} at {str(request)[:300]}: {self._log.read()[-1500:]}")
        return base64.b64decode(answer)

    def encode(self, subject, line):
        """`line`: {"schema":…,"payload":…}, as text or object; null is None."""
        value = json.loads(line) if isinstance(line, str) else line
        return None if value is None else self._ask({"subject": subject, "json": value})

    def avro(self, subject, schema, datum):
        """A datum in Avro's JSON encoding, of that schema."""
        return self._ask({"subject": subject, "schema": schema, "datum": datum})

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._log.close()


def main(arguments):
    if arguments == ["install"]:
        registry_folder()
        encoder_folder()
        return 0
    if len(arguments) != 2 or arguments[0] not in ("start", "stop"):
        print(__doc__, file=sys.stderr)
        return 2
    registry = Registry(pathlib.Path(arguments[1]).resolve())
    if arguments[0] == "start":
        print(registry.start().address)
    else:
        registry.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
