"""check and why as a user runs them: what they print, their exit statuses, hostile bytes in any file."""

import fcntl
import json
import os
import pty
import random
import shutil
import struct
import subprocess
import termios
import unittest

from program_case import FIXTURES, PROGRAM, ProgramCase


class Check(ProgramCase):
    def setUp(self):
        super().setUp()
        self.table = self.customers()
        for n in range(3):
            self.ingest_lines(self.table, [{"id": 1, "name": "Ana", "plan": f"p{n}"}, {"id": 10 + n, "name": "x", "plan": None}], name=f"{n}.jsonl")
        self.path = self.warehouse / "shop.db/customers"

    def kinds(self, *options, status=1):
        return {(f["severity"], f["kind"]) for f in self.rows("check", self.table, *options, status=status)}

    def test_an_undamaged_table_gives_nothing(self):
        for options in ([], ["--data"], ["--all"], ["--all", "--data"], ["--snapshot", 1, "--data"]):
            self.assertEqual(self.rows("check", self.table, *options), [], options)
        done = self.run_program("check", self.table, "--data")
        self.assertIn("no damage", done.stdout)
        self.assertIn("8 rows", done.stdout)  # 6 live, 2 of the latest changelog

    def test_damage_is_told_with_what_to_do_and_exit_status_1(self):
        data = next(self.path.glob("bucket-*/data-*.parquet"))
        data.unlink()
        done = self.run_program("check", self.table, status=1)
        for word in ("damage  data-file-missing", data.name, "found", "expected", "to do", "damaged: 1 finding"):
            self.assertIn(word, done.stdout)
        self.assertEqual(self.kinds(), {("damage", "data-file-missing")})

    def test_a_warning_is_no_damage(self):
        (self.path / "snapshot/LATEST").write_text("1")
        self.assertEqual(self.kinds(status=0), {("warning", "latest-hint-wrong")})

    def test_a_table_that_cannot_be_opened_is_checked_all_the_same(self):
        schema = self.path / "schema/schema-0"
        schema.write_bytes(schema.read_bytes()[:40])
        self.run_program("read", self.table, status=1)
        self.assertEqual(self.kinds(), {("damage", "schema-unreadable")})

    def test_a_bit_in_a_page_is_found_by_data_alone(self):
        data = next(self.path.glob("bucket-*/data-*.parquet"))
        content = bytearray(data.read_bytes())
        content[54] ^= 1
        data.write_bytes(content)
        self.assertEqual(self.kinds(status=0), set())
        self.assertEqual(self.kinds("--data"), {("damage", "data-file-unreadable")})

    def test_damaged_first_bytes_are_found_by_data(self):
        data = next(self.path.glob("bucket-*/data-*.parquet"))
        data.write_bytes(b"PAX1" + data.read_bytes()[4:])
        self.assertEqual(self.kinds(status=0), set())
        self.assertEqual(self.kinds("--data"), {("damage", "data-file-unreadable")})
        self.assertIn("50 41 58 31", self.run_program("check", self.table, "--data", status=1).stdout)

    def test_a_reader_that_meets_damage_names_the_file_once_and_check(self):
        data = next(self.path.glob("bucket-*/data-*.parquet"))
        content = data.read_bytes()
        data.unlink()
        for command in (("read", self.table), ("changes", self.table, "--from", "full"), ("get", self.table, "id=1"), ("read", self.path)):
            done = subprocess.run([PROGRAM, "--warehouse", self.warehouse, *command], capture_output=True, text=True)
            if command[0] == "get" and done.returncode == 0:
                continue  # it was another bucket's file
            self.assertIn("corruption", done.stderr)
            self.assertEqual(done.stderr.count(data.name), 1, done.stderr)
            self.assertIn("is there, a file it names is not", done.stderr)
            self.assertEqual(done.stderr.count(f"headrace check {command[1]} tells what is damaged"), 1, done.stderr)
        data.write_bytes(content[:-20])
        done = self.run_program("read", self.table, status=1)
        self.assertIn(f"headrace check {self.table} tells", done.stderr)
        # What is damaged and no part of the table is not told by check.
        done = self.run_program("ingest", self.table, self.write("in.parquet", content[:100]), status=1)
        self.assertNotIn("headrace check", done.stderr)

    def test_files_that_nothing_refers_to_are_notes(self):
        left = self.path / "manifest/manifest-left-over-0"
        left.write_text("x")
        self.assertEqual(self.kinds("--all", status=0), set(), "it may belong to a commit under way")
        os.utime(left, (0, 0))
        self.assertEqual(self.kinds("--all", status=0), {("note", "unreferenced-file")})

    def test_wrong_usage_and_absent_tables_have_their_own_statuses(self):
        self.run_program("check", self.table, "--all", "--snapshot", 1, status=2)
        self.run_program("check", status=2)
        self.assertIn("not found", self.run_program("check", "shop.nothing", status=1).stderr)
        self.assertIn("not found", self.run_program("check", self.table, "--snapshot", 77, status=1).stderr)

    def test_findings_are_bounded_and_the_rest_is_counted(self):
        for data in self.path.glob("bucket-*/data-*.parquet"):
            data.unlink()
        done = self.run_program("check", self.table, "--max-findings", 1, status=1)
        self.assertEqual(done.stdout.count("data-file-missing"), 1)
        self.assertIn("beyond --max-findings", done.stdout)

    def test_whatever_bytes_are_in_a_file_it_ends_with_a_verdict(self):
        random.seed(1)
        files = sorted(f for f in self.path.rglob("*") if f.is_file())
        copy = self.folder / "copy"
        for round_number in range(24):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.path, copy)
            victim = copy / random.choice(files).relative_to(self.path)
            content = bytearray(victim.read_bytes())
            how = round_number % 4
            if how == 0:
                content = content[:random.randrange(len(content) + 1)]
            elif how == 1:
                for _ in range(8):
                    if content:
                        content[random.randrange(len(content))] = random.randrange(256)
            elif how == 2:
                content = bytearray(random.randbytes(len(content)))
            else:
                content = content * 3
            victim.write_bytes(content)
            done = subprocess.run([PROGRAM, "check", copy, "--data", "--all"], capture_output=True, text=True, timeout=60)
            self.assertIn(done.returncode, (0, 1), (victim, done.stderr))
            self.assertIn("looked at", done.stdout, victim)


class Why(ProgramCase):
    def test_the_versions_of_customer_8821(self):
        table = FIXTURES / "customer-8821-none/warehouse/peer.db/customers"
        done = self.run_program("why", table, "customer_id=8821", "--format", "jsonl")
        versions = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(versions[0]["_rowkind"], "-D")
        self.assertTrue(versions[0]["_verdict"].startswith("the newest, a delete"), versions)
        self.assertIn("no row", done.stderr)
        self.run_program("get", table, "customer_id=8821", status=1)

    def test_the_winner_is_named_with_its_reason(self):
        table = self.customers()
        for plan in ("trial", "pro"):
            self.ingest_lines(table, [{"id": 1, "name": "Ana", "plan": plan}], name=f"{plan}.jsonl")
        versions = self.rows("why", table, "id=1")
        self.assertEqual([v["plan"] for v in versions], ["pro", "trial"])
        self.assertIn("wins: larger sequence number (1 over 0)", versions[0]["_verdict"])
        self.assertEqual(self.rows("get", table, "id=1")[0]["plan"], "pro")
        self.assertEqual([v["plan"] for v in self.rows("why", table, "id=1", "--snapshot", 1)], ["trial"])
        self.assertIn("no live file holds the key", self.run_program("why", table, "id=7").stderr)

    def on_a_terminal(self, columns, *arguments):
        """What the program prints on a terminal so wide."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        child = subprocess.Popen([PROGRAM, "--quiet", "--warehouse", self.warehouse, *arguments], stdout=theirs)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # how Linux tells that nobody writes any more
            pass
        os.close(ours)
        self.assertEqual(child.wait(), 0)
        return text.decode().replace("\r\n", "\n")

    def test_a_narrow_terminal_gets_a_block_a_version(self):
        table = self.customers()
        for plan in ("trial", "pro"):
            self.ingest_lines(table, [{"id": 1, "name": "Ana", "plan": plan}], name=f"{plan}.jsonl")
        narrow = self.on_a_terminal(80, "why", table, "id=1")
        self.assertIn("wins: larger sequence number (1 over 0)", narrow)
        self.assertIn("\n    version   +I, sequence number 1\n    place     bucket ", narrow)
        self.assertIn('    row       {"id":1,"name":"Ana","plan":"pro"}\n', narrow)
        self.assertEqual(narrow.count("    file      "), 2)
        wide = self.on_a_terminal(400, "why", table, "id=1")
        self.assertNotIn("    place ", wide)
        self.assertIn("_verdict", wide)

    def test_tables_without_versions_are_refused(self):
        self.run_program("create", "shop.log", "--schema", "id INT, v STRING")
        self.assertIn("no primary key", self.run_program("why", "shop.log", "id=1", status=1).stderr)
        table = self.customers()
        self.assertIn("neither part of the primary key", self.run_program("why", table, "id=1", "plan=x", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
