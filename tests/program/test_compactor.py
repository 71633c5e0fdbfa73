"""`headrace compact --follow`: a compactor beside write-only writers, which tells the changes that they leave to it."""

import signal
import subprocess
import time

from program_case import PROGRAM, ProgramCase


class Compactor(ProgramCase):
    def start(self, table, *more):
        command = [PROGRAM, "--warehouse", str(self.warehouse), "compact", table, "--follow", "--every", "0.1", *more]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(process.kill)
        return process

    def wait_for_changes(self, table, expected):
        """The changes as (kind, id, plan), once there are as many as expected."""
        end = time.monotonic() + 60
        while True:
            told = [(c["_rowkind"], c["id"], c["plan"]) for c in self.rows("changes", table, "--from", "earliest")]
            if len(told) >= expected or time.monotonic() > end:
                return told
            time.sleep(0.2)

    def stop(self, process, with_signal):
        process.send_signal(with_signal)
        _, notes = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, notes)
        self.assertIn("stopped after", notes)
        return notes

    def test_it_tells_the_changes_of_write_only_writers_and_stops_when_asked(self):
        for producer, with_signal in (("lookup", signal.SIGINT), ("full-compaction", signal.SIGTERM)):
            with self.subTest(producer):
                self.warehouse = self.folder / producer
                table = self.customers("--option", f"changelog-producer={producer}", "--option", "write-only=true")
                process = self.start(table)
                self.ingest_lines(table, [{"id": 1, "name": "a", "plan": "trial"}, {"id": 2, "name": "b", "plan": "pro"}],
                                  name="1.jsonl")
                first = self.wait_for_changes(table, 2)
                self.assertCountEqual(first, [("+I", 1, "trial"), ("+I", 2, "pro")])
                self.ingest_lines(table, [{"id": 1, "name": "a", "plan": "pro"}], name="2.jsonl")
                self.assertEqual(self.wait_for_changes(table, 4)[2:], [("-U", 1, "trial"), ("+U", 1, "pro")])
                self.assertIn("files became", self.stop(process, with_signal))
                self.run_program("check", table, "--data")

    def test_a_table_that_goes_away_ends_it_with_an_error(self):
        table = self.customers("--option", "write-only=true")
        process = self.start(table)
        time.sleep(0.5)
        self.run_program("drop", table)
        _, notes = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, notes)
        self.assertIn(table, notes)
