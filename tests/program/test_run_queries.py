"""Continuous SQL over every kind of source: what each query's table holds after each run, beside the same query by `headrace sql`."""

import json
import os
import random
import time
import unittest

from program_case import ProgramCase

SEED = int(os.environ.get("HEADRACE_SEED") or time.time_ns() % 10**9)

COLUMNS = "id BIGINT, cust INT, amount DECIMAL(10, 2), tag STRING, day DATE"
KEYED = "PRIMARY KEY (id) NOT ENFORCED"
SOURCES = {
    "none": f"({COLUMNS}, {KEYED}) WITH ('bucket' = '2')",
    "input": f"({COLUMNS}, {KEYED}) WITH ('bucket' = '1', 'changelog-producer' = 'input')",
    "lookup": f"({COLUMNS}, {KEYED}) WITH ('bucket' = '2', 'changelog-producer' = 'lookup')",
    "full": f"({COLUMNS}, {KEYED}) WITH ('bucket' = '1', 'changelog-producer' = 'full-compaction')",
    "parts": f"({COLUMNS}, PRIMARY KEY (day, id) NOT ENFORCED) PARTITIONED BY (day) WITH ('bucket' = '1', 'changelog-producer' = 'input')",
    "dynamic": f"({COLUMNS}, PRIMARY KEY (day, id) NOT ENFORCED) PARTITIONED BY (day) WITH ('bucket' = '-1', 'changelog-producer' = 'lookup')",
    "moving": f"({COLUMNS}, {KEYED}) PARTITIONED BY (day) WITH ('bucket' = '-1', 'changelog-producer' = 'lookup')",
    "vectors": f"({COLUMNS}, {KEYED}) WITH ('bucket' = '1', 'changelog-producer' = 'lookup', 'deletion-vectors.enabled' = 'true')",
    "log": f"({COLUMNS}) WITH ('bucket' = '-1')",
}

# Columns, key, query; {a} and {b} are sources, {p} more of a's key.
QUERIES = [
    ("id BIGINT, day DATE, twice DECIMAL(12, 2)", "id, day", "SELECT id, day, amount * 2 FROM {a} WHERE amount > 3"),
    ("tag STRING, n BIGINT, s DECIMAL(38, 2), low DECIMAL(10, 2), high DECIMAL(10, 2)", "tag",
     "SELECT tag, count(*), sum(amount), min(amount), max(amount) FROM {a} GROUP BY tag"),
    ("tag STRING, n BIGINT, mean DOUBLE", "tag", "SELECT tag, count(DISTINCT cust), avg(amount) FROM {a} GROUP BY tag HAVING count(*) > 1"),
    ("tag STRING", "tag", "SELECT DISTINCT tag FROM {a} WHERE cust IS NOT NULL"),
    ("id BIGINT, day DATE, tag STRING, place BIGINT", "id, day",
     "SELECT id, day, tag, row_number() OVER (PARTITION BY tag ORDER BY amount DESC NULLS LAST, id, day) AS place FROM {a} QUALIFY place <= 2"),
    ("side INT, id BIGINT, day DATE, tag STRING", "side, id, day",
     "SELECT 1, id, day, tag FROM {a} WHERE amount > 5 UNION ALL SELECT 2, id, day, tag FROM {b}"),
    ("id BIGINT, day DATE, oid BIGINT, oday DATE, tag STRING", "id, day, oid, oday",
     "SELECT x.id, x.day, y.id, y.day, y.tag FROM {a} x JOIN {b} y ON x.cust = y.cust AND x.tag = y.tag"),
    ("aid BIGINT, aday DATE, bid BIGINT, bday DATE", "aid, aday, bid, bday",
     "SELECT x.id, x.day, y.id, y.day FROM {a} x JOIN {a} y ON x.cust = y.cust WHERE x.id < y.id"),
    ("n BIGINT, s DECIMAL(38, 2), one INT", "one", "SELECT count(*), sum(amount), 1 FROM {a}"),
    ("cust INT, n BIGINT, s DECIMAL(38, 2)", "cust",
     "SELECT x.cust, count(*), sum(y.amount) FROM {a} x JOIN {b} y ON x.cust = y.cust GROUP BY x.cust"),
]
# Both by id alone.
FULL_JOIN = ("id BIGINT, tag STRING, other STRING", "id",
             "SELECT coalesce(x.id, y.id), x.tag, y.tag FROM {a} x FULL JOIN {b} y ON x.id = y.id")
LEFT_JOIN = ("id BIGINT, tag STRING, other STRING", "id", "SELECT x.id, x.tag, y.tag FROM {a} x LEFT JOIN {b} y ON x.cust = y.id")
BY_ID = ["none", "input", "lookup", "full", "moving", "vectors"]


class Queries(ProgramCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)

    def sql(self, text):
        return self.run_program("sql", "-f", self.write("statements.sql", text), "--format", "jsonl")

    def make_pipeline(self):
        """Each query over each source that it fits once, the other side by chance."""
        self.stages, script = [], []
        for a in SOURCES:
            fitting = [query for query in QUERIES if a != "log" or query[1].find("id") < 0]
            if a in BY_ID:
                fitting += [FULL_JOIN, LEFT_JOIN]
            for columns, key, query in self.random.sample(fitting, 4):
                b = self.random.choice(BY_ID if (columns, key, query) in (FULL_JOIN, LEFT_JOIN) else [name for name in SOURCES if name != "log"])
                target = f"t{len(self.stages)}"
                producer = self.random.choice(["none", "input", "lookup"])
                script.append(f"CREATE TABLE {target} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) "
                              f"WITH ('bucket' = '1', 'changelog-producer' = '{producer}');")
                text = query.format(a=f"db.{a}", b=f"db.{b}")
                script.append(f"INSERT INTO {target} {text};")
                self.stages.append((target, text, producer))
        script.append(f"CREATE TABLE copy ({COLUMNS}) WITH ('bucket' = '-1'); INSERT INTO copy SELECT * FROM log WHERE amount > 2;")
        self.stages.append(("copy", "SELECT * FROM db.log WHERE amount > 2", "none"))
        self.pipeline = self.write("all.sql", "USE db;\n" + "\n".join(script))

    def row(self):
        pick = self.random
        return (f"({pick.randrange(12)}, {pick.choice(['NULL', *range(5)])}, {pick.choice(['NULL', *range(12)])}, "
                f"'{pick.choice(['a', 'b', 'c', ''])}', DATE '2026-05-0{pick.randrange(1, 4)}')")

    def change(self, table):
        pick = self.random
        statements = [f"INSERT INTO db.{table} VALUES {', '.join(self.row() for _ in range(pick.randrange(1, 6)))}"]
        if table != "log":
            statements += [
                f"UPDATE db.{table} SET amount = {pick.choice(['NULL', 3, 11])} WHERE id % 4 = {pick.randrange(4)}",
                f"UPDATE db.{table} SET cust = {pick.choice(['NULL', 0, 4])}, tag = '{pick.choice('abc')}' WHERE id = {pick.randrange(12)}",
                f"UPDATE db.{table} SET id = id + 1 WHERE id >= {pick.randrange(12)}",
                f"DELETE FROM db.{table} WHERE tag = '{pick.choice('abc')}' AND id % 2 = 0",
                f"DELETE FROM db.{table} WHERE id = {pick.randrange(12)}"]
        return "; ".join(pick.sample(statements, min(len(statements), pick.randrange(1, 3))))

    def test_what_each_query_keeps_is_what_it_answers(self):
        with self.subTest(f"HEADRACE_SEED={SEED}"):
            self.play()

    def play(self):
        self.sql("; ".join(f"CREATE TABLE db.{name} {definition}" for name, definition in SOURCES.items()))
        self.make_pipeline()
        for turn in range(4):
            self.sql("; ".join(self.change(name) for name in SOURCES if turn == 0 or self.random.random() < 0.7))
            if self.random.random() < 0.3:
                self.run_program("rescale", f"db.{self.random.choice(['none', 'input'])}", "--buckets", self.random.randrange(1, 4))
            self.run_program("compact", "db.full", "--full")
            self.run_program("run", self.pipeline, "--once")
            self.check_all(turn)
        for target, query, producer in self.stages:
            with self.subTest(f"HEADRACE_SEED={SEED} {query}"):
                self.run_program("check", f"db.{target}", "--data", *(["--changelog"] if producer != "none" else []))

    def check_all(self, turn):
        differences = []
        for target, query, _ in self.stages:
            found = f"SELECT * FROM db.{target}"
            differences.append(f"SELECT '{target}' AS target, count(*) AS rows FROM ((({query}) EXCEPT ALL ({found})) UNION ALL "
                               f"(({found}) EXCEPT ALL ({query}))) HAVING count(*) > 0")
        wrong = [json.loads(line)["target"] for line in self.sql(";\n".join(differences)).stdout.splitlines()]
        stories = [self.story(stage) for stage in self.stages if stage[0] in wrong]
        self.assertEqual(stories, [], f"HEADRACE_SEED={SEED} run {turn}\n" + "\n".join(stories))

    def story(self, stage):
        """What a wrong target should hold and holds, and by which changes it came there: enough to see what went wrong when it does not again."""
        target, query, producer = stage
        found = f"SELECT * FROM db.{target}"
        lines = [f"{target} ({producer}): {query}"]
        for name, text in [("lacks", f"({query}) EXCEPT ALL ({found})"), ("has too many", f"({found}) EXCEPT ALL ({query})")]:
            lines += [f"  {name} {row}" for row in self.sql(text).stdout.splitlines()]
        lines += [f"  snapshot {row}" for row in self.run_program("show", "snapshots", f"db.{target}", "--format", "jsonl").stdout.splitlines()]
        lines += [f"  change {row}" for row in self.run_program("changes", f"db.{target}", "--format", "jsonl").stdout.splitlines()]
        return "\n".join(lines)


if __name__ == "__main__":
    unittest.main()
