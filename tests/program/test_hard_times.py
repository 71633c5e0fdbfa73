"""A full disk, a folder that cannot be written, files that are gone, a table dropped under its writer: a clear error, nothing lost, nothing doubled."""

import os
import pathlib
import resource
import signal
import subprocess
import unittest

from program_case import PROGRAM, ProgramCase

NOBODY = 65534


class HardTimes(ProgramCase):
    def setUp(self):
        super().setUp()
        self.table = self.customers("--option", "num-sorted-run.compaction-trigger=3")
        self.path = self.warehouse / "shop.db/customers"

    def events(self, count, name="events.jsonl"):
        """Each key twice, so that compactions have something to do; the second version counts."""
        lines = [f'{{"id": {n % (count // 2)}, "name": "name {n} {"x" * 200}", "plan": "p{n}"}}\n' for n in range(count)]
        return self.write(name, "".join(lines))

    def ingest(self, file, **options):
        command = [PROGRAM, "--warehouse", str(self.warehouse), "ingest", self.table, str(file), "--format", "json", "--commit-every", "50"]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=120, **options)

    def check_all(self, count):
        """Every event is there once: the changes are the events, the rows their last versions."""
        changes = self.rows("changes", self.table)
        self.assertEqual(sorted(row["plan"] for row in changes), sorted(f"p{n}" for n in range(count)))
        rows = self.rows("read", self.table)
        self.assertEqual(sorted(row["plan"] for row in rows), sorted(f"p{n}" for n in range(count // 2, count)))

    def test_files_that_may_not_grow(self):
        """ulimit -f stands in for a full disk: some commits get in, the rest is refused; with room the same command ends the work."""
        file = self.events(1000)

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))

        done = self.ingest(file, preexec_fn=little_room)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ulimit -f", done.stderr)
        self.rows("read", self.table)
        self.assertEqual(self.ingest(file).returncode, 0)
        self.check_all(1000)

    def test_a_full_disk(self):
        """A file system of its own, as small as it gets."""
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        self.warehouse = disk / "warehouse"
        self.customers()
        file = self.events(1000)
        done = self.ingest(file)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("free some space", done.stderr)
        self.rows("read", self.table)
        subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
        self.assertEqual(self.ingest(file).returncode, 0)
        self.check_all(1000)

    def test_a_folder_that_may_not_be_written(self):
        file = self.events(100)
        os.chmod(self.folder, 0o755)
        for folder in (self.warehouse, *self.warehouse.rglob("*")):
            os.chmod(folder, 0o555 if folder.is_dir() else 0o444)

        def as_nobody():
            if os.getuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        if os.getuid() == 0 and subprocess.run(["true"], preexec_fn=as_nobody).returncode == 0:
            try:
                subprocess.run([PROGRAM, "--version"], preexec_fn=as_nobody, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                self.skipTest("another user cannot run the program here")
        done = self.ingest(file, preexec_fn=as_nobody)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("permission", done.stderr.lower())
        self.assertIn(str(self.path), done.stderr)
        for folder in (self.warehouse, *self.warehouse.rglob("*")):
            os.chmod(folder, 0o755 if folder.is_dir() else 0o644)
        self.assertEqual(self.ingest(file).returncode, 0)
        self.check_all(100)

    def test_a_file_where_a_folder_should_be(self):
        for name in ("snapshot", "manifest"):
            (self.path / name).write_text("not a folder")
            done = self.ingest(self.events(100))
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(str(self.path / name), done.stderr)
            (self.path / name).unlink()
        self.assertEqual(self.ingest(self.events(100)).returncode, 0)
        self.check_all(100)

    def test_lying_hints_lead_no_writer_astray(self):
        for n, (latest, earliest) in enumerate((("1", "3"), ("900", "900"), ("x", ""), ("0", "-1"))):
            self.assertEqual(self.ingest(self.events(100, f"{n}.jsonl")).returncode, 0)
            before = self.snapshot_ids()
            (self.path / "snapshot/LATEST").write_text(latest)
            (self.path / "snapshot/EARLIEST").write_text(earliest)
            self.assertEqual(self.ingest(self.events(60, f"{n}-more.jsonl")).returncode, 0)
            self.assertGreater(len(self.snapshot_ids()), len(before))
            self.assertEqual(self.snapshot_ids(), list(range(1, len(self.snapshot_ids()) + 1)))
        for hint in ("LATEST", "EARLIEST"):
            (self.path / "snapshot" / hint).unlink(missing_ok=True)
        self.assertEqual(self.ingest(self.events(40, "last.jsonl")).returncode, 0)

    def snapshot_ids(self):
        return sorted(int(f.name.removeprefix("snapshot-")) for f in (self.path / "snapshot").glob("snapshot-*"))

    def test_a_missing_manifest_or_data_file_is_named(self):
        self.assertEqual(self.ingest(self.events(100)).returncode, 0)
        for pattern in ("manifest/manifest-[0-9a-f]*", "manifest/manifest-list-*", "bucket-0/data-*.parquet"):
            newest = max((f for f in self.path.glob(pattern)), key=lambda f: f.stat().st_mtime_ns)
            named = {f for f in self.path.glob(pattern)}
            broken = 0
            for file in named:
                kept = file.read_bytes()
                file.unlink()
                done = subprocess.run([PROGRAM, "--warehouse", str(self.warehouse), "read", self.table, "--format", "jsonl"],
                                      capture_output=True, text=True, timeout=120)
                if done.returncode != 0:  # some are of older snapshots alone
                    broken += 1
                    self.assertIn(file.name, done.stderr)
                    self.assertRegex(done.stderr, "corruption|not found")
                file.write_bytes(kept)
            self.assertGreater(broken, 0, newest)
        self.check_all(100)

    def test_a_table_dropped_under_its_writer_stays_dropped(self):
        command = [PROGRAM, "--warehouse", str(self.warehouse), "ingest", self.table, "-", "--format", "json", "--commit-every", "10"]
        for again in (False, True):
            writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            writer.stdin.write("".join(f'{{"id": {n}, "name": "a", "plan": "b"}}\n' for n in range(40)))
            writer.stdin.flush()
            while not (self.path / "snapshot/snapshot-1").exists():
                self.assertIsNone(writer.poll())
            self.run_program("drop", self.table)
            if again:
                self.customers()
            _, errors = writer.communicate("".join(f'{{"id": {n}, "name": "a", "plan": "b"}}\n' for n in range(40, 400)), timeout=120)
            self.assertEqual(writer.returncode, 1, errors)
            self.assertRegex(errors, "dropped|not found")
            if again:
                self.assertEqual(self.rows("read", self.table), [])
                self.assertEqual(self.snapshot_ids(), [])
            else:
                self.assertFalse(self.path.exists(), list(pathlib.Path(self.path).rglob("*")))
                self.customers()


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    unittest.main()
