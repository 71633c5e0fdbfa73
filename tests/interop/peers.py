"""The programs under test as Python objects: Java Paimon and pypaimon behind one JSON line protocol, and the headrace program.

A Peer is one process that answers requests in turn; it starts on first use and ends with close(). Nothing here compares.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import encoding

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = pathlib.Path(os.environ.get("HEADRACE_INTEROP_DIR", ROOT / "build" / "interop"))
VENV = pathlib.Path(os.environ.get("HEADRACE_PYPAIMON_VENV", ROOT / ".venv-pypaimon"))
FIXTURES = pathlib.Path(os.environ.get("HEADRACE_FIXTURES", ROOT / "tests" / "fixtures"))
JAVA_OPTIONS = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8"]


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


def pypaimon():
    return Peer("pypaimon", [str(VENV / "bin" / "python"), "-W", "ignore", str(HERE / "pypaimon_peer.py"), "serve"])
