"""EMIT ON WINDOW CLOSE by `headrace run`: a table's watermark, windows that wait for it, and late rows."""

import json
import unittest

from program_case import ProgramCase

PIPELINE = """
USE shop;
CREATE TABLE clicks (clicked TIMESTAMP(3), page STRING, WATERMARK FOR clicked AS clicked - INTERVAL '5' SECOND) WITH ('bucket' = '-1');
CREATE TABLE per_minute (start TIMESTAMP(3), page STRING, n BIGINT, PRIMARY KEY (start, page) NOT ENFORCED)
  WITH ('bucket' = '1', 'changelog-producer' = 'input');
INSERT INTO per_minute
  SELECT CAST(date_trunc('minute', clicked) AS TIMESTAMP(3)) AS start, page, count(*) FROM clicks GROUP BY start, page
  EMIT ON WINDOW CLOSE;
"""


class Windows(ProgramCase):
    def sql(self, text, status=0):
        return self.run_program("sql", "-f", self.write("statements.sql", text), "--format", "jsonl", status=status)

    def per_minute(self):
        told = self.sql("SELECT strftime(start, '%H:%M'), page, n FROM shop.per_minute ORDER BY ALL")
        return [list(json.loads(line).values()) for line in told.stdout.splitlines()]

    def click(self, *times):
        self.sql("INSERT INTO shop.clicks VALUES " + ", ".join(f"(TIMESTAMP '2026-05-01 {time}', '/')" for time in times))
        return self.run_program("run", self.folder / "windows.sql", "--once")

    def test_a_window_comes_when_it_is_closed(self):
        self.write("windows.sql", PIPELINE)
        told = self.run_program("run", self.folder / "windows.sql", "--explain").stdout
        self.assertIn("a window's row comes once clicked of shop.clicks has been seen 5000 ms past the window's end", told)
        schema = json.loads((self.warehouse / "shop.db" / "clicks" / "schema" / "schema-0").read_text())
        self.assertEqual({key: value for key, value in schema["options"].items() if key.startswith("schema.")},
                         {"schema.watermark.0.rowtime": "clicked", "schema.watermark.0.strategy.expr": "`clicked` - INTERVAL '5' SECOND",
                          "schema.watermark.0.strategy.data-type": "TIMESTAMP(3)"})
        self.click("10:00:01", "10:00:59", "10:01:04")
        self.assertEqual(self.per_minute(), [])
        self.click("10:01:05")
        self.assertEqual(self.per_minute(), [["10:00", "/", 2]])
        self.click("10:00:30")
        self.assertEqual(self.per_minute(), [["10:00", "/", 3]])
        self.run_program("check", "shop.per_minute", "--data", "--changelog")

    def test_it_is_of_pipelines_and_needs_a_watermark(self):
        self.write("windows.sql", PIPELINE.replace(", WATERMARK FOR clicked AS clicked - INTERVAL '5' SECOND", ""))
        told = self.run_program("run", self.folder / "windows.sql", "--once", status=1).stderr
        self.assertIn("needs the watermark of shop.clicks, which declares none", told)
        told = self.sql("INSERT INTO shop.per_minute SELECT clicked, page, 1 FROM shop.clicks EMIT ON WINDOW CLOSE", status=1).stderr
        self.assertIn("headrace run", told)


if __name__ == "__main__":
    unittest.main()
