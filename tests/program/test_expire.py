"""headrace expire: what ends, what is held back and why, and what the changes still show."""

import json
import shutil

from program_case import ProgramCase


class Expire(ProgramCase):
    def filled(self, *options, commits=6):
        self.run_program("create", "shop.t", "--schema", "id INT, v STRING", "--primary-key", "id", "--option", "bucket=1",
                         "--option", "changelog-producer=input", *options)
        for n in range(commits):
            self.ingest_lines("shop.t", [{"id": n, "v": f"v{n}"}], name=f"{n}.jsonl")
        return "shop.t", self.warehouse / "shop.db" / "t"

    def snapshots(self):
        return [row["snapshot"] for row in self.rows("show", "snapshots", "shop.t")]

    def test_a_dry_run_tells_and_deletes_nothing(self):
        table, folder = self.filled()
        before = sorted(folder.rglob("*"))
        told = self.run_program("expire", table, "--dry-run", "--retain-max", 2).stdout
        last = self.snapshots()[-1]
        self.assertIn(f"snapshots 1 to {last - 2} would end; their changes stay in changelog/", told)
        self.assertIn("the newest 2 are retained", told)
        self.assertEqual(sorted(folder.rglob("*")), before)

    def test_nothing_is_due_in_a_young_table(self):
        table, _ = self.filled(commits=2)
        told = self.run_program("expire", table).stdout
        self.assertIn("nothing is due", told)
        self.assertIn("the newest 10 are retained (snapshot.num-retained.min)", told)

    def test_the_reasons_are_in_plain_words(self):
        table, _ = self.filled("--option", "snapshot.num-retained.min=1", commits=2)
        self.assertIn("its successor is younger than 1 h (snapshot.time-retained)", self.run_program("expire", table).stdout)
        self.assertIn("younger than 90 min (", self.run_program("expire", table, "--older-than", "90 min").stdout)
        told = self.run_program("expire", table, "--retain-max", 1, "--dry-run").stdout
        self.assertIn("the newest is retained (snapshot.num-retained.min)", told)

    def test_changes_tell_that_earlier_ones_have_expired(self):
        table, _ = self.filled("--option", "changelog.time-retained=1 h")
        self.assertNotIn("expired", self.run_program("changes", table).stderr)
        self.run_program("expire", table, "--retain-max", 2)
        first = self.snapshots()[0]
        told = f"earlier changes have expired; begins at snapshot {first}\n"
        self.assertIn(told, self.run_program("changes", table).stderr)
        self.assertEqual(self.run_program("--quiet", "changes", table).stderr, "")
        self.assertNotIn("expired", self.run_program("changes", table, "--from-snapshot", first).stderr)

    def test_changes_outlive_their_snapshots(self):
        table, folder = self.filled()
        before = self.rows("changes", table)
        self.run_program("expire", table, "--retain-max", 1)
        self.assertEqual(len(self.snapshots()), 1)
        self.assertEqual(self.rows("changes", table), before)
        self.assertEqual(self.rows("changes", table, "--from-snapshot", 2), [row for row in before if row["_snapshot"] >= 2])
        self.assertEqual(len(self.rows("read", table)), 6)

    def test_an_expired_position_is_told_with_what_is_there(self):
        table, _ = self.filled("--option", "changelog.time-retained=1 h")
        self.run_program("expire", table, "--retain-max", 2)
        first = self.snapshots()[0]
        error = self.run_program("changes", table, "--from-snapshot", 1, status=1).stderr
        self.assertIn("snapshot 1 has expired", error)
        self.assertIn(f"changes are retained from snapshot {first} to", error)

    def test_consumers_and_tags_hold_back(self):
        table, folder = self.filled("--option", "changelog.time-retained=1 h")
        (folder / "consumer").mkdir(exist_ok=True)
        (folder / "consumer" / "consumer-report").write_text(json.dumps({"nextSnapshot": 3}))
        (folder / "tag").mkdir()
        shutil.copy(folder / "snapshot" / "snapshot-2", folder / "tag" / "tag-two")
        told = self.run_program("expire", table, "--retain-max", 1).stdout
        self.assertIn("snapshots 1 to 2 ended", told)
        self.assertIn("held back from snapshot 3 on: consumer 'report' reads snapshot 3 next", told)
        (folder / "consumer" / "consumer-report").unlink()
        told = self.run_program("expire", table, "--retain-max", 1).stdout
        self.assertRegex(told, r"2 data files kept by tag two")

    def test_an_unreadable_tag_stops_it(self):
        table, folder = self.filled()
        (folder / "tag").mkdir()
        (folder / "tag" / "tag-broken").write_text("{")
        error = self.run_program("expire", table, "--retain-max", 1, status=1).stderr
        self.assertIn("nothing was deleted", error)
        self.assertIn("tag-broken", error)
        self.assertEqual(self.snapshots()[0], 1)

    def test_ages_and_moments(self):
        table, _ = self.filled()
        self.assertIn("nothing is due", self.run_program("expire", table, "--older-than", "2 h", "--retain-min", 1).stdout)
        self.assertIn("nothing is due", self.run_program("expire", table, "--older-than", "2020-01-01 00:00:00", "--retain-min", 1).stdout)
        self.assertIn("neither an age", self.run_program("expire", table, "--older-than", "soon", status=1).stderr)
        self.assertIn("1 is the least", self.run_program("expire", table, "--retain-max", 0, status=1).stderr)
        self.run_program("expire", table, "--older-than", "0 s", "--retain-min", 1)
        self.assertEqual(len(self.snapshots()), 1)
