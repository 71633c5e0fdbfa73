"""A PostgreSQL server of Debian's package for a test: its own temporary folder, a free loopback port, stopped by its own process id.

    with Postgres() as server:
        server.sql("CREATE TABLE t (id int PRIMARY KEY)")
        print(server.uri())

Also a program: `postgres.py FOLDER` runs one until Ctrl-C and prints its address.
"""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
STARTS_WITHIN = 60
DATABASE = "shop"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postgres:
    def __init__(self, folder=None, settings=()):
        if not (PROGRAMS / "postgres").exists():
            raise RuntimeError(f"{PROGRAMS} has no PostgreSQL 15: run scripts/bootstrap")
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="headrace-postgres-"))
        self.settings = ["wal_level=logical", "fsync=off", "max_wal_senders=100", "max_replication_slots=100",
                         "autovacuum=off", *settings]
        self.port = free_port()
        self.process = None
        # The server refuses to run as root.
        self.account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.account:
            os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
        self.data = self.folder / "data"

    def _account(self):
        return {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []} if self.account else {}

    def __enter__(self):
        subprocess.run([PROGRAMS / "initdb", "-D", self.data, "-U", "admin", "--auth=trust", "--encoding=UTF8",
                        "--locale=C.UTF-8", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self._account())
        self.start()
        self.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
        return self

    def start(self):
        options = [f"-c{setting}" for setting in self.settings]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAMS / "postgres", "-D", self.data, "-p", str(self.port), "-h", "127.0.0.1", "-k", self.folder, *options],
                stdout=log, stderr=log, cwd=self.folder, **self._account())
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end:
            try:
                self.sql("SELECT 1", database="postgres")
                return
            except subprocess.CalledProcessError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError("PostgreSQL did not start:\n" + (self.folder / "log").read_text()[-3000:])

    def stop(self, how=signal.SIGINT):
        """SIGINT ends the sessions and shuts down, SIGQUIT is as if the power went."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout=60)

    def __exit__(self, *_):
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def uri(self, user="admin", database=DATABASE):
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}"

    def sql(self, text, database=DATABASE):
        """What the statements print: a line a row, columns parted by tabs, NULL as \\N. Each statement is a transaction of its own."""
        done = subprocess.run([PROGRAMS / "psql", "-X", "-q", "-A", "-t", "-F", "\t", "-P", "null=\\N", "-v", "ON_ERROR_STOP=1",
                               "-d", self.uri(database=database), "-f", "-"],
                              input=text, check=True, capture_output=True, text=True, env=os.environ | {"TZ": "UTC", "PGTZ": "UTC"})
        return done.stdout.splitlines()

    def pgbench(self, *arguments, database=DATABASE):
        """Started; wait for it."""
        command = [PROGRAMS / "pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "admin", *map(str, arguments), database]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    with Postgres(sys.argv[1] if len(sys.argv) > 1 else None) as server:
        print(server.uri(), flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
