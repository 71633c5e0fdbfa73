"""A test case with a warehouse of its own and the program under test."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["HEADRACE_PROGRAM"]
FIXTURES = pathlib.Path(os.environ["HEADRACE_FIXTURES"])


class ProgramCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-program-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.warehouse = self.folder / "warehouse"

    def run_program(self, *arguments, status=0, stdin="", environment=None, warehouse=True):
        """The finished process; fails when its exit status is another one."""
        command = [PROGRAM, *(["--warehouse", str(self.warehouse)] if warehouse else []), *map(str, arguments)]
        env = {k: v for k, v in os.environ.items() if k != "HEADRACE_WAREHOUSE"} | (environment or {})
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, cwd=self.folder, timeout=120)
        self.assertEqual(done.returncode, status, f"{command}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done

    def rows(self, *arguments, **options):
        """The JSON lines that a command prints."""
        text = self.run_program(*arguments, "--format", "jsonl", **options).stdout
        return [json.loads(line) for line in text.splitlines()]

    def write(self, name, text):
        path = self.folder / name
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text)
        return path

    def customers(self, *options):
        """A primary-key table with a changelog, made by the program."""
        self.run_program("create", "shop.customers", "--schema", "id BIGINT, name STRING, plan STRING", "--primary-key", "id",
                         "--option", "bucket=2", "--option", "changelog-producer=input", *options)
        return "shop.customers"

    def ingest_lines(self, table, lines, *options, name="rows.jsonl", **keywords):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        return self.run_program("ingest", table, self.write(name, text), "--format", "json", *options, **keywords)
