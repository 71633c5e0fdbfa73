"""Rows at random, from a seed: values of every type with the special ones among them, tables of the options in scope, and batches
of inserts, updates and deletes. The same seed gives the same rows."""

import datetime
import random

import encoding

WORDS = ["", "a", " ", "granite", "maré", "日本", "🦀crab", "Ünïcödé", "a/b=c", "back\\slash", 'quo"te', "tab\tnew\nline", "nul\0char",
         "exactly seven".replace(" ", "_"), "a string well beyond the sixteen characters that statistics keep", "￿￿￿", "zzzzzzzzzzzzzzzzzzzz"]

# One column of each: what "all types" means. TIME is written with milliseconds whatever its precision.
SCALARS = {
    "c_boolean": "BOOLEAN", "c_tinyint": "TINYINT", "c_smallint": "SMALLINT", "c_int": "INT", "c_bigint": "BIGINT", "c_float": "FLOAT",
    "c_double": "DOUBLE", "c_decimal_9_2": "DECIMAL(9, 2)", "c_decimal_18_4": "DECIMAL(18, 4)", "c_decimal_38_18": "DECIMAL(38, 18)",
    "c_char": "CHAR(5)", "c_varchar": "VARCHAR(20)", "c_string": "STRING", "c_binary": "BINARY(4)", "c_varbinary": "VARBINARY(16)",
    "c_bytes": "BYTES", "c_date": "DATE", "c_time": "TIME(3)", "c_ts0": "TIMESTAMP(0)", "c_ts3": "TIMESTAMP(3)", "c_ts6": "TIMESTAMP(6)",
    "c_ltz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "c_ltz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
NANOS = {"c_ts9": "TIMESTAMP(9)", "c_ltz9": "TIMESTAMP(9) WITH LOCAL TIME ZONE"}
NESTED = {
    "c_array": "ARRAY<INT>", "c_array_string": "ARRAY<STRING>", "c_array_decimal": "ARRAY<DECIMAL(20, 3)>", "c_array_array": "ARRAY<ARRAY<BIGINT>>",
    "c_map": "MAP<STRING, INT>", "c_map_int": "MAP<INT, STRING>", "c_row": "ROW<a INT, b STRING, c ROW<d DOUBLE, e DATE, f ARRAY<INT>>>",
    "c_array_row": "ARRAY<ROW<x BIGINT, y STRING>>", "c_map_row": "MAP<STRING, ROW<x TIMESTAMP(6), y DECIMAL(9, 2)>>",
}
MULTISETS = {"c_multiset": "MULTISET<STRING>", "c_multiset_int": "MULTISET<INT>"}
PARTITION_TYPES = {"STRING": "STRING", "INT": "INT", "BIGINT": "BIGINT", "SMALLINT": "SMALLINT", "BOOLEAN": "BOOLEAN", "DATE": "DATE",
                   "DECIMAL": "DECIMAL(9, 2)", "TIMESTAMP": "TIMESTAMP(3)", "CHAR": "CHAR(3)"}
KEY_TYPES = ["INT", "BIGINT", "STRING", "DATE", "DECIMAL(9, 2)", "DECIMAL(20, 4)", "TIMESTAMP(3)", "VARCHAR(20)", "SMALLINT", "BYTES"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self._types = {}

    def value(self, type_text, nullable=True, key=False):
        """A value of the type as JSON; null one time in seven unless told; for a key nothing that compares oddly."""
        t = self._types.get(type_text) or self._types.setdefault(type_text, encoding.parse_type(type_text))
        return self._value(t, nullable and t.nullable, key)

    def _value(self, t, nullable, key=False):
        r = self.random
        if nullable and r.random() < 1 / 7:
            return None
        if t.root == "BOOLEAN":
            return r.random() < 0.5
        if t.root in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
            top = 2 ** ({"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[t.root] - 1)
            return r.choice([0, 1, -1, top - 1, -top, r.randint(-top, top - 1), r.randint(-top, top - 1), r.randint(-100, 99)])
        if t.root in ("FLOAT", "DOUBLE"):
            return self._floating(t.root, key)
        if t.root == "DECIMAL":
            return self._decimal(*t.numbers)
        if t.root in ("CHAR", "VARCHAR", "STRING"):
            return self._text(t)
        if t.root in ("BINARY", "VARBINARY", "BYTES"):
            size = t.numbers[0] if t.root == "BINARY" else r.choice([0, 1, 4, 7, 8, min(t.numbers or (40,))])
            return bytes(r.choice([0, 255, 127, 128, r.randrange(256)]) for _ in range(size)).hex()
        if t.root == "DATE":
            return r.choice(["1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "2024-02-29", self._date(), self._date()])
        if t.root == "TIME":
            return r.choice(["00:00:00.000", "23:59:59.999", f"{r.randrange(24):02d}:{r.randrange(60):02d}:{r.randrange(60):02d}.{r.randrange(1000):03d}"])
        if t.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            return self._timestamp(t.numbers[0]) + ("Z" if t.root == "TIMESTAMP_LTZ" else "")
        if t.root == "ARRAY":
            return [self._value(t.children[0], True) for _ in range(r.choice([0, 1, 2, 5]))]
        if t.root in ("MAP", "MULTISET"):
            value_of = (lambda: self._value(t.children[1], True)) if t.root == "MAP" else (lambda: r.randint(1, 9))
            keys = {encoding.dump(k): k for k in (self._value(t.children[0], False, True) for _ in range(r.choice([0, 1, 2, 4])))}
            return encoding.sorted_pairs((k, value_of()) for k in keys.values())
        if t.root == "ROW":
            return {name: self._value(child, True) for name, child in t.children}
        raise ValueError(f"no values of type {t}")

    def _floating(self, root, key):
        r = self.random
        value = r.choice([0.0, 1.5, -2.25, 0.1, 1e-5, 123456.789, 1e20, r.uniform(-1e3, 1e3), r.gauss(0, 1) * 10 ** r.randint(-20, 20)])
        if not key:
            value = r.choice([value, value, value, -0.0, float("nan"), float("inf"), float("-inf")])
        return encoding.floating(encoding.float32(value) if root == "FLOAT" else value)

    def _decimal(self, precision, scale):
        r = self.random
        top = 10**precision - 1
        unscaled = r.choice([0, 1, -1, top, -top, r.randint(-top, top), r.randint(-9999, 9999) if top > 9999 else 7])
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        text = digits[:-scale] + "." + digits[-scale:] if scale else digits
        return "-" + text if unscaled < 0 else text

    def _text(self, t):
        r = self.random
        word = r.choice(WORDS) if r.random() < 0.5 else r.choice(["amber", "birch", "cobalt", "dune"]) + str(r.randrange(1000))
        if t.root == "CHAR":
            return (word + "abcdefgh")[: t.numbers[0]]
        return word[: t.numbers[0]] if t.root == "VARCHAR" else word

    def _date(self):
        return (datetime.date(1600, 1, 1) + datetime.timedelta(days=self.random.randrange(365 * 800))).isoformat()

    def _timestamp(self, precision):
        r = self.random
        # Nanoseconds since 1970 in 64 bits end in 2262; the others hold every year of four digits.
        years = (1700, 2250) if precision > 6 else (1, 9999)
        year = r.choice([1970, 1969, 2024, r.randint(1800, 2200), years[0], years[1]])
        text = f"{year:04d}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}T{r.randrange(24):02d}:{r.randrange(60):02d}:{r.randrange(60):02d}"
        fraction = r.choice(["000000000", "999999999", "000000001", f"{r.randrange(10**9):09d}"])
        return text + ("." + fraction[:precision] if precision else "")

    # ---- rows and batches

    def row(self, table):
        keys = set(table.primary_keys)
        return {name: self.value(t, nullable=name not in keys, key=name in keys) for name, t in table.fields.items()}

    def append_batches(self, table, commits, rows):
        return [[self.row(table) for _ in range(rows)] for _ in range(commits)]

    def keyed_batches(self, table, commits, rows, keys=40, deletes=True, before_images=False, kinds=True):
        """Batches of inserts, updates and deletes over a pool of keys. before_images: every update is a -U with the old row and a +U,
        every delete carries the old row, as a changelog from a database has it. With sequence.field, rows may come late, but
        not behind a delete: once a compaction has dropped the delete, nothing remembers it."""
        r = self.random
        drawn = ([self.value(table.fields[k], nullable=False, key=True) for k in table.primary_keys] for _ in range(keys))
        pool = list({encoding.dump(key): key for key in drawn}.values())
        live, highest, deleted = {}, {}, set()
        batches = []
        for _ in range(commits):
            batch = []
            while len(batch) < rows:
                number = r.randrange(len(pool))
                row = {**self.row(table), **dict(zip(table.primary_keys, pool[number]))}
                self._give_sequence(table, row, number, highest, deleted)
                if deletes and number in live and r.random() < 0.3:
                    gone = dict(live.pop(number)) if before_images else row
                    if not before_images:
                        self._give_sequence(table, gone, number, highest, {number})
                    deleted.add(number)
                    batch.append({"_rowkind": "-D", **gone})
                    continue
                if before_images and number in live:
                    batch += [{"_rowkind": "-U", **live[number]}, {"_rowkind": "+U", **row}]
                else:
                    batch.append({"_rowkind": r.choice(["+I", "+I", "+U"]) if kinds and not before_images else "+I", **row})
                live[number] = row
            batches.append(batch)
        return batches

    def _give_sequence(self, table, row, number, highest, deleted):
        for field in (f for f in table.options.get("sequence.field", "").split(",") if f):
            top = highest.get((number, field), 0)
            if number in deleted:
                row[field] = top + self.random.randint(1, 5)
            else:
                row[field] = self.random.choice([top + 3, top + 1, top, max(0, top - 2), None])
            highest[(number, field)] = max(top, row[field] or 0)
