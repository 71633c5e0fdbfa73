"""The programs under test as Python objects: Java Paimon and pypaimon behind one JSON line protocol, and the headrace program.

A Peer is one process that answers requests in turn; it starts on first use and ends with close(). Nothing here compares.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import encoding

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = pathlib.Path(os.environ.get("HEADRACE_INTEROP_DIR", ROOT / "build" / "interop"))
READERS_VENV = pathlib.Path(os.environ.get("HEADRACE_READERS_VENV", ROOT / ".venv-readers"))
KAFKA_VENV = pathlib.Path(os.environ.get("HEADRACE_KAFKA_VENV", ROOT / ".venv-kafka"))
VENV = pathlib.Path(os.environ.get("HEADRACE_PYPAIMON_VENV", ROOT / ".venv-pypaimon"))
FIXTURES = pathlib.Path(os.environ.get("HEADRACE_FIXTURES", ROOT / "tests" / "fixtures"))
JAVA_OPTIONS = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8"]

# Flink looks into classes that Java 17 closes.
FLINK_OPTIONS = [*JAVA_OPTIONS, *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util", "time", "nio", "net", "math"))]


class PeerError(Exception):
    """A peer answered that it failed; str() is its message and the trace of its own code."""


class Peer:
    """One peer process. Calls are methods by operation name: peer.scan(path=..., snapshot=3)."""

    def __init__(self, name, command):
        self.name = name
        self._command = command
        self._process = None

    def request(self, op, **arguments):
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        arguments = {k: str(v) if isinstance(v, pathlib.Path) else v for k, v in arguments.items() if v is not None}
        self._process.stdin.write(encoding.dump({"op": op, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"{self.name} ended with status {self._process.wait()} at {op} {arguments}")
        answer = json.loads(line)
        if not answer["ok"]:
            raise PeerError(f"{self.name} {op}: {answer['error']}\n{answer['trace']}")
        return answer.get("lines", answer.get("value"))

    def __getattr__(self, op):
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda **arguments: self.request(op, **arguments)

    def close(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None


def java():
    return Peer("java", ["java", *JAVA_OPTIONS, "-cp", f"{OUT}/classes:{OUT}/lib/*", "headrace.peer.Peer", "serve"])


def flink():
    """Flink with Paimon: SQL over a warehouse, in batch and streaming; see FlinkPeer.java."""
    return Peer("flink", ["java", *FLINK_OPTIONS, "-cp", f"{OUT}/classes-flink:{OUT}/classes:{OUT}/lib-flink/*", "headrace.peer.FlinkPeer", "serve"])


def debezium():
    """Debezium's embedded engine, which produces what it captures into topics of a broker; see DebeziumPeer.java."""
    options = [*JAVA_OPTIONS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    return Peer("debezium", ["java", *options, "-cp", f"{OUT}/classes-debezium:{OUT}/classes:{OUT}/lib-debezium/*", "headrace.peer.DebeziumPeer", "serve"])


def pypaimon():
    return Peer("pypaimon", [str(VENV / "bin" / "python"), "-W", "ignore", str(HERE / "pypaimon_peer.py"), "serve"])


def readers():
    """pypaimon-rust, DuckDB and pyarrow in one process; see readers_peer.py."""
    return Peer("readers", [str(READERS_VENV / "bin" / "python"), "-W", "ignore", str(HERE / "readers_peer.py"), "serve"])


def kafka(address):
    """A client of the broker at the address; see kafka_peer.py."""
    return Peer("kafka", [str(KAFKA_VENV / "bin" / "python"), "-W", "ignore", str(HERE / "kafka_peer.py"), address])


class Headrace:
    """The headrace program, one process a call, with the methods of a peer."""

    name = "headrace"

    def __init__(self, program=None):
        self._program = program or os.environ.get("HEADRACE_PROGRAM") or str(ROOT / "build" / "bin" / "headrace")
        if shutil.which(self._program) is None:
            raise FileNotFoundError(f"no program {self._program}: run make build, or set HEADRACE_PROGRAM")
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-input-"))
        self._inputs = 0

    def run(self, *arguments):
        """Standard output of `headrace ARGUMENTS`; PeerError when the exit status is not 0."""
        command = [self._program, *map(str, arguments)]
        # Local time must not matter to anything that is stored or printed.
        environment = {**os.environ, "TZ": "Asia/Kathmandu"}
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
        if done.returncode != 0:
            raise PeerError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def create(self, warehouse, table, fields, primaryKeys=(), partitionKeys=(), options=None):
        columns = ", ".join(f"{name} {t}" for name, t in fields.items())
        arguments = ["--warehouse", warehouse, "create", table, "--schema", columns]
        if primaryKeys:
            arguments += ["--primary-key", ",".join(primaryKeys)]
        if partitionKeys:
            arguments += ["--partition-by", ",".join(partitionKeys)]
        for key, value in (options or {}).items():
            arguments += ["--option", f"{key}={value}"]
        self.run(*arguments)
        database, name = table.split(".")
        return {"path": f"{warehouse}/{database}.db/{name}"}

    def alter(self, path, changes):
        """One `headrace alter` a change, as the Java peer takes them."""
        for change in changes:
            kind, name = next(iter(change.items()))
            if kind in ("set", "unset"):
                self.run("alter", path, kind, f"{name}={change['to']}" if kind == "set" else name)
                continue
            words = [kind, name, *(change[key] for key in ("type", "to") if key in change)]
            if "after" in change:
                words += ["--after", change["after"]]
            self.run("alter", path, *words, *(["--first"] if change.get("first") else []))

    def write(self, path, rows, keyed=True):
        """Rows grouped by _commit: a file and a commit a group, all by one ingest."""
        self.run(*self.ingest(path, rows, keyed))

    def ingest(self, path, rows, keyed=True):
        """The arguments that write does it with. The same again go on where a killed run ended."""
        groups = {}
        for row in rows:
            groups.setdefault(row.get("_commit", 1), []).append(row)
        files = []
        for key in sorted(groups):
            self._inputs += 1
            files.append(self._folder / f"{self._inputs:06d}.jsonl")
            with open(files[-1], "w", encoding="utf-8") as out:
                for row in groups[key]:
                    out.write(encoding.dump({k: v for k, v in row.items() if k != "_commit" and (keyed or k != "_rowkind")}) + "\n")
        kinds = ["--kind-column", "_rowkind"] if keyed else []
        return ["ingest", path, *files, "--format", "json", *kinds, "--binary", "hex", "--decimals", "string", "--commit-every", "file"]

    def command(self, *arguments):
        return [self._program, *map(str, arguments)]

    def start(self, *arguments):
        """The program as a process that goes on beside the caller, who may kill it."""
        return subprocess.Popen([self._program, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def compact(self, path, full=False):
        self.run("compact", path, *(["--full"] if full else []))

    def scan(self, path, snapshot=None, columns=None, ordered=False):
        arguments = ["read", path, "--format", "jsonl"]
        if snapshot is not None:
            arguments += ["--snapshot", snapshot]
        if columns:
            arguments += ["--columns", ",".join(columns)]
        lines = _lines(self.run(*arguments))
        return lines if ordered else sorted(lines)

    def get(self, path, key):
        """The row's line, or None."""
        pairs = [f"{name}={value if isinstance(value, str) else encoding.dump(value)}" for name, value in key.items()]
        try:
            return self.run("get", path, *pairs, "--format", "jsonl").removesuffix("\n")
        except PeerError as error:
            if "has no row" in str(error):
                return None
            raise

    def changes(self, path, to=None, **first):
        arguments = ["changes", path, "--format", "jsonl", "--from-snapshot", first.get("from", 1)]
        return _lines(self.run(*arguments, *(["--to-snapshot", to] if to is not None else [])))

    def close(self):
        shutil.rmtree(self._folder, ignore_errors=True)


def _lines(text):
    """Lines end at a newline only: str.splitlines() would also cut at U+2028 and its like inside a string."""
    return text.split("\n")[:-1]
