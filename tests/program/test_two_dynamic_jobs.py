"""Two jobs on one table with dynamic buckets: a job that loses a race gives its rows buckets anew, and no key ever has two."""

import json
import subprocess

from program_case import PROGRAM, ProgramCase

ROWS = 1200
KEYS = 500


class TwoDynamicJobs(ProgramCase):
    def start(self, job):
        command = [PROGRAM, "--warehouse", str(self.warehouse), "ingest", "shop.orders", str(self.folder / f"{job}.jsonl"), "--format",
                   "json", "--job", job, "--commit-every", "200"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder)

    def test_every_key_is_there_once_with_a_last_row_of_one_of_them(self):
        self.run_program("create", "shop.orders", "--schema", "id BIGINT, v STRING", "--primary-key", "id", "--option", "bucket=-1",
                         "--option", "dynamic-bucket.target-row-num=60")
        last = {}
        for number, job in enumerate(("a", "b")):
            lines = [{"id": i * (7 + number) % KEYS, "v": f"{job}{i}"} for i in range(ROWS)]
            self.write(f"{job}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
            for line in lines:
                last.setdefault(line["id"], {})[job] = line["v"]
        waiting = ["a", "b"]
        # A job that lost too many races in a row ends by name; run again it goes on where it was.
        for _ in range(20):
            running = [(job, self.start(job)) for job in waiting]
            waiting = []
            for job, process in running:
                _, errors = process.communicate(timeout=100)
                if process.returncode != 0:
                    self.assertIn("other writers won", errors)
                    waiting.append(job)
        self.assertEqual(waiting, [])
        rows = self.rows("read", "shop.orders")
        self.assertEqual(len(rows), len(last))
        for row in rows:
            self.assertIn(row["v"], last[row["id"]].values(), row)
        self.run_program("check", "shop.orders", "--data")
