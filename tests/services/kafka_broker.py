#!/usr/bin/env python3
"""A real Kafka broker for tests and trials: from Maven's artifacts, in KRaft mode, on loopback ports that are free.

usage: tests/services/kafka_broker.py start FOLDER [PROPERTY=VALUE …]   prints the address, host:port; data and log lie in FOLDER
       tests/services/kafka_broker.py stop FOLDER                       ends the broker that was started there, by its own process id
       tests/services/kafka_broker.py install                           only brings the libraries, into build/services/kafka

As a module: Broker(folder) with start(), stop(), kill() and address. It needs a Java 17 and Maven (scripts/bootstrap interop).
"""

import fcntl
import hashlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARIES = pathlib.Path(os.environ.get("HEADRACE_KAFKA_DIR", ROOT / "build" / "services" / "kafka"))
JAVA_OPTIONS = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]
CLUSTER = "aGVhZHJhY2UtdGVzdHMhIQ"  # 16 bytes in base64
READY_SECONDS = 90

LOG4J = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR">
  <Appenders><Console name="out"><PatternLayout pattern="%d %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


def install():
    """The broker's jars; done once, then only looked at."""
    pom = HERE / "kafka-broker" / "pom.xml"
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()
    LIBRARIES.mkdir(parents=True, exist_ok=True)
    with open(LIBRARIES / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = LIBRARIES / "stamp"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        command = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={LIBRARIES / 'lib'}"]
        for wait in (2, 5, None):  # downloads fail now and then; what has arrived stays
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode == 0:
                stamp.write_text(wanted)
                return
            if wait:
                time.sleep(wait)
        raise RuntimeError(f"the libraries of Kafka cannot be had: {done.stdout[-2000:]}")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
        return True
    except OSError:
        return False


class Broker:
    """One broker; stopped and started again it has its data and its address. `secured`: a protocol (SASL_SSL …) for a second listener, at
    secured_address, whose certificates, mechanisms and users `properties` and `format_arguments` say."""

    def __init__(self, folder, properties=None, secured=None, format_arguments=()):
        self.folder = pathlib.Path(folder)
        self.properties = dict(properties or {})
        self.secured = secured
        self.format_arguments = list(format_arguments)
        self._process = None

    @property
    def address(self):
        return (self.folder / "address").read_text().strip()

    @property
    def secured_address(self):
        return (self.folder / "secured-address").read_text().strip()

    def _command(self, main, *arguments):
        return ["java", *JAVA_OPTIONS, f"-Dlog4j2.configurationFile={self.folder / 'log4j2.xml'}", "-cp", f"{LIBRARIES / 'lib'}/*", main, *arguments]

    def _configure(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "log4j2.xml").write_text(LOG4J)
        port, controller, secured_port = free_ports(3)
        secured = f"{self.secured}://localhost:{secured_port}" if self.secured else ""
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}" + (f",{secured}" if secured else ""),
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}" + (f",{secured}" if secured else ""),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT" + (f",{self.secured}:{self.secured}" if secured else ""),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.check.interval.ms": "1000",
            **self.properties,
        }
        (self.folder / "server.properties").write_text("".join(f"{k}={v}\n" for k, v in properties.items()))
        (self.folder / "address").write_text(f"127.0.0.1:{port}\n")
        if secured:
            (self.folder / "secured-address").write_text(f"localhost:{secured_port}\n")
        command = self._command("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self.folder / "server.properties"), *self.format_arguments)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"Kafka's storage in {self.folder} cannot be made ready: {done.stdout[-2000:]}")

    def start(self):
        install()
        if not (self.folder / "server.properties").exists():
            self._configure()
        with open(self.folder / "broker.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", str(self.folder / "server.properties")),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pid").write_text(str(self._process.pid))
        port = int(self.address.rsplit(":", 1)[1])
        deadline = time.monotonic() + READY_SECONDS
        while not answers(port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the broker does not start: {(self.folder / 'broker.log').read_text()[-2000:]}")
            time.sleep(0.1)
        return self

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, how):
        pid_file = self.folder / "pid"
        if not pid_file.exists():
            return
        pid = int(pid_file.read_text())
        if is_broker_of(pid, self.folder):
            os.kill(pid, how)
            deadline = time.monotonic() + 30
            while is_broker_of(pid, self.folder) and time.monotonic() < deadline:
                if self._process is not None:
                    self._process.poll()  # takes its exit status
                time.sleep(0.05)
            if is_broker_of(pid, self.folder):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None
        pid_file.unlink()


def is_broker_of(pid, folder):
    """Whether the process is still the one that was started there: ids are given out again."""
    try:
        return str(folder / "server.properties") in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def main(arguments):
    if arguments == ["install"]:
        install()
        return 0
    if len(arguments) < 2 or arguments[0] not in ("start", "stop"):
        print(__doc__, file=sys.stderr)
        return 2
    broker = Broker(pathlib.Path(arguments[1]).resolve(), dict(p.split("=", 1) for p in arguments[2:]))
    if arguments[0] == "start":
        print(broker.start().address)
    else:
        broker.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
