"""Random primary-key tables of every merge engine, changelog producer, table mode and bucket kind, with rows that suit them.

draw() makes a Play: a table, and steps of commits and compactions, from a seed. What is impossible is drawn around (IMPOSSIBLE), and
so is each case in which Java Paimon 1.3.1 is known to be wrong or leaves the answer to chance (DRAWN_AROUND).
"""

import dataclasses
import functools
import itertools
import json
import random

import encoding
import generate
import peers
from model import Table

ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
PRODUCERS = ("none", "input", "lookup", "full-compaction")
MODES = ("merge-on-read", "deletion vectors", "full compaction every commit")
BUCKETS = ("fixed", "dynamic", "cross-partition", "postpone")

DRAWN_AROUND = {
    "sequence.field.sort-order=descending": "1.3.1 sorts ascending in its buffer, and one process mixes up the directions",
    "overflow of sum and product": "1.3.1 wraps; the values stay small",
    "values of a delete that empties a row": "1.3.1 keeps only its NOT NULL columns, 2.x all; such deletes carry nulls",
    "a sequence group whose sequence is null": "a lone row of a key keeps the group's values, a merged one has nulls; they are null from the start",
    "a row behind a delete in sequence": "what a compaction to the top has dropped, nothing remembers; such rows carry later sequences",
    "merging some runs of results that do not add up in any order": "which files a partial compaction takes depends on their sizes; "
                                                                      "it is left out where retractions or late rows make that matter",
    "retracting from a key that has no row": "whether a compaction still holds the lone retraction depends on its level",
    "keys of BYTES where compaction looks keys up": "1.3.1 compares them as it cannot: ClassCastException; the keys are of other types",
    "a retraction in a cross-partition table that does not remove the row": "it leaves null in the partition column: an error",
    "row-deduplicate of null elements, NaN, zeros of either sign, and maps to integers past a byte": "1.3.1 finds them unlike themselves",
    "ignore-delete or rowkind.field where a key moves between partitions": "1.3.1 ignores the delete that empties the old place, or takes it "
                                                                             "for an insert, and can then not open the table for writing",
    "partition values with a slash where compaction looks keys up": "1.3.1 has them in the names of local files, and fails",
    "a first value behind a delete that removed its row": "null in 1.3.1 for as long as all is merged at once, 2.x takes the next",
    "deletion vectors: a key that one commit of a writer deletes and a later one adds": "1.3.1 looks it up in a local copy of the file, made "
                                                                                        "before the delete marked it: the dead row is merged",
    "a delete that names another partition than its key's": "partial-update and aggregation of 1.3.1 forget its kind and add it",
    "nested_update of rows of one key in the first array": "1.3.1 keeps them all, 2.x the last; the keys of an array differ",
    "collect with distinct of a row alone that has an element twice": "1.3.1 takes one away where compaction looks keys up, else none; all differ",
    "listagg with distinct": "1.3.1 takes the option and keeps every word; it is drawn for collect alone",
    "listagg of empty words": "1.3.1 puts a delimiter for them, 2.x leaves them out; no word is empty",
    "a row behind a delete that removes it, where a sequence orders them": "once 1.3.1 has merged the delete with rows before it, the sequence is null: "
                                                                            "it removes nothing later; partial-update and aggregation have such deletes "
                                                                            "without sequence.field and sequence groups",
}

FUNCTIONS = {  # name to the column types it is drawn with
    "sum": ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(20, 4)", "DECIMAL(9, 2)"],
    "product": ["BIGINT", "DOUBLE", "INT"],
    "max": ["INT", "BIGINT", "DOUBLE", "DECIMAL(12, 2)", "STRING", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "SMALLINT"],
    "min": ["INT", "BIGINT", "DOUBLE", "DECIMAL(12, 2)", "STRING", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "TINYINT"],
    "last_value": ["INT", "STRING", "ARRAY<INT>", "DECIMAL(38, 18)", "BYTES"],
    "last_non_null_value": ["BIGINT", "STRING", "MAP<STRING, INT>", "TIMESTAMP(6)", "BOOLEAN"],
    "first_value": ["INT", "STRING", "DOUBLE"],
    "first_non_null_value": ["INT", "STRING", "DATE"],
    "bool_and": ["BOOLEAN"],
    "bool_or": ["BOOLEAN"],
    "listagg": ["STRING"],
    "collect": ["ARRAY<INT>", "ARRAY<STRING>"],
    "merge_map": ["MAP<STRING, INT>", "MAP<INT, STRING>"],
    "nested_update": ["ARRAY<ROW<k INT, v STRING>>"],
    "rbm32": ["BYTES"],
    "rbm64": ["BYTES"],
}
RETRACTING = ("sum", "product", "last_value", "last_non_null_value", "collect", "merge_map", "nested_update")

SPICE = [
    ("metadata.stats-mode", ["none", "counts", "full"]), ("manifest.merge-min-count", ["2", "4"]), ("manifest.target-file-size", ["2 kb"]),
    ("target-file-size", ["16 kb"]), ("data-file.thin-mode", ["true"]), ("file.compression", ["uncompressed", "snappy", "zstd"]),
    ("num-levels", ["3", "7"]),
]


@dataclasses.dataclass
class Play:
    """A table and its steps: ("write", batches), each batch a commit and all of them one writer's session, or ("compact", full)."""

    table: Table
    engine: str
    producer: str
    mode: str
    bucket: str
    steps: list
    exact: bool  # the changes of each commit are fixed; else only what they add up to

    def combination(self):
        return (self.engine, self.producer, self.mode, self.bucket)


def impossible(engine, producer, mode, bucket):
    """Why Paimon has no such table, or None."""
    if engine == "first-row" and producer not in ("none", "lookup"):
        return "first-row has the producers none and lookup"
    if engine == "first-row" and mode == "deletion vectors":
        return "first-row has no deletion vectors"
    if producer == "full-compaction" and mode == "deletion vectors":
        return "deletion vectors have no producer full-compaction"
    return None


def combinations(r):
    """All possible ones, so dealt that the first dozen have every engine, producer, mode and bucket kind."""
    possible = [c for c in itertools.product(ENGINES, PRODUCERS, MODES, BUCKETS) if not impossible(*c)]
    r.shuffle(possible)
    seen, first, rest = set(), [], []
    for combination in possible:
        (first if set(enumerate(combination)) - seen else rest).append(combination)
        seen |= set(enumerate(combination))
    return first + rest


@functools.cache
def bitmaps(function):
    """Serialized bitmaps, from what a fixture was written from."""
    lines = (peers.FIXTURES / "aggregation" / "input" / "agg_inserts.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted({row[function] for row in map(json.loads, lines) if row[function] is not None})[:12]


def comparable(value):
    """Without what 1.3.1 never finds equal to itself, or equal to what is not the same."""
    if isinstance(value, dict):
        return {name: comparable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[1], int):
            return [comparable(value[0]), value[1] % 100]  # perhaps an entry of a map, whose value 1.3.1 compares as an object
        return [comparable(inner) for inner in value if inner is not None and not (isinstance(inner, list) and inner[-1:] == [None])]
    return 1.5 if isinstance(value, float) and value == 0 or value == "NaN" else value


class Drawing:
    """One table being drawn: its columns, options, and what rows may say."""

    def __init__(self, r, name, engine, producer, mode, bucket):
        self.r, self.engine, self.producer, self.mode, self.bucket = r, engine, producer, mode, bucket
        self.g = generate.Generator(r.random())
        self.options = {"merge-engine": engine, "changelog-producer": producer}
        self.columns = {}    # value columns to types
        self.functions = {}  # value columns to aggregate functions
        self.groups = []     # (sequence columns, fields)
        self.deletes = None  # None, "delete" (removes the row), "ignored" or "retract"
        self.sequence = []
        self.row_deduplicate = producer in ("lookup", "full-compaction") and r.random() < 0.5
        self._keys()
        {"deduplicate": self._deduplicate, "partial-update": self._partial_update, "aggregation": self._aggregation,
         "first-row": self._first_row}[engine]()
        self._modes()
        names = list(self.fields())
        r.shuffle(names)
        fields = self.fields()
        self.table = Table(name, {n: fields[n] for n in names}, self.primary, self.partitions, self.options)

    def fields(self):
        return {**{n: f"{t} NOT NULL" for n, t in {**self.key_types, **self.partition_types}.items()}, **self.columns}

    # ---- keys and buckets

    def _keys(self):
        r = self.r
        mod = self.bucket == "fixed" and r.random() < 0.2
        count = 1 if mod else r.choice([1, 1, 2, 3])
        self.looks_up = self.producer == "lookup" or self.mode == "deletion vectors" or self.engine == "first-row"
        types = [t for t in generate.KEY_TYPES if t != "BYTES" or not self.looks_up]
        self.key_types = {f"k{i}": r.choice(["INT", "BIGINT"] if mod else types) for i in range(count)}
        cross = self.bucket == "cross-partition"
        count = r.choice([1, 1, 2]) if cross else r.choice([0, 0, 1])
        self.partition_types = {f"p{i}": r.choice(["STRING", "INT", "DATE"]) for i in range(count)}
        self.partitions = list(self.partition_types)
        self.primary = list(self.key_types) + ([] if cross else self.partitions)
        r.shuffle(self.primary)
        if self.bucket == "fixed":
            self.options["bucket"] = r.choice(["1", "2", "3"])
            if mod:
                self.options["bucket-function.type"] = "mod"
        elif self.bucket == "postpone":
            self.options["bucket"] = "-2"
            self.options["postpone.default-bucket-num"] = r.choice(["1", "2"])
        else:
            self.options["bucket"] = "-1"
            if r.random() < 0.7:
                self.options["dynamic-bucket.target-row-num"] = r.choice(["3", "10"])

    # ---- engines

    def _any_columns(self, low, high):
        pool = list({**generate.SCALARS, **generate.NANOS, **generate.NESTED, **generate.MULTISETS}.items())
        if self.bucket == "postpone":  # its files are Avro where the types allow it; TIMESTAMP(9) makes them Parquet
            pool = [(n, t) for n, t in pool if "MULTISET" not in t]
        return dict(self.r.sample(pool, self.r.randint(low, high)))

    def _sequence_field(self, chance):
        if self.bucket != "cross-partition" and self.r.random() < chance:
            self.sequence = [f"seq{i}" for i in range(self.r.choice([1, 1, 2, 3]))]
            self.columns |= {n: self.r.choice(["BIGINT", "INT"]) for n in self.sequence}
            self.options["sequence.field"] = ",".join(self.sequence)

    def _deduplicate(self):
        self.columns = self._any_columns(1, 6)
        self._sequence_field(0.4)
        cross = self.bucket == "cross-partition"
        self.deletes = "delete" if cross else self.r.choice(["delete", "delete", "delete", "ignored"])
        if self.deletes == "ignored":
            self.options["ignore-delete"] = "true"
        if self.r.random() < 0.15:
            self.options["ignore-update-before"] = "true"
        if self.r.random() < 0.15 and not cross:
            self.columns["rk"] = "STRING NOT NULL"
            self.options["rowkind.field"] = "rk"

    def _first_row(self):
        self.columns = self._any_columns(1, 6)
        if self.r.random() < 0.4:
            self.deletes = "ignored"
            self.options["ignore-delete"] = "true"

    def _partial_update(self):
        r = self.r
        self.columns = self._any_columns(1, 5)
        if r.random() < 0.5:
            self._sequence_groups()
        else:
            self.deletes = r.choice([None, "ignored", "delete"])
            if self.deletes == "ignored":
                self.options["ignore-delete"] = "true"
            elif self.deletes == "delete":
                self.options["partial-update.remove-record-on-delete"] = "true"
            if self.deletes != "delete":
                self._sequence_field(0.3)

    def _retractions(self, *kinds):
        """None where a partition column is an ordinary one: a retraction would leave null in it, which it may not hold."""
        return () if self.bucket == "cross-partition" else kinds

    def _sequence_groups(self):
        r = self.r
        self.deletes = r.choice([None, "ignored", *self._retractions("retract")])
        if self.deletes == "ignored":
            self.options["ignore-delete"] = "true"
        for n in range(r.choice([1, 1, 2, 3])):
            order = [f"g{n}"] + ([f"g{n}b"] if r.random() < 0.3 else [])
            self.columns |= {name: "BIGINT" for name in order}
            fields = []
            for i in range(r.choice([1, 2, 3])):
                name = f"f{n}{i}"
                fields.append(name)
                if r.random() < 0.5:
                    self.columns[name] = r.choice(["INT", "STRING", "DECIMAL(12, 2)", "ARRAY<INT>", "TIMESTAMP(6)", "DOUBLE"])
                else:
                    self._aggregated(name, RETRACTING if self.deletes == "retract" else tuple(FUNCTIONS))
            self.groups.append((order, fields))
            self.options[f"fields.{','.join(order)}.sequence-group"] = ",".join(fields)

    def _aggregation(self):
        r = self.r
        self.deletes = r.choice([None, "ignored", "delete", *self._retractions("retract", "retract")])
        if self.deletes == "ignored":
            self.options["ignore-delete"] = "true"
        elif self.deletes == "delete":
            self.options["aggregation.remove-record-on-delete"] = "true"
        for n in range(r.randint(2, 7)):
            name = f"v{n}"
            drops = ("first_value", "first_non_null_value") if self.deletes == "delete" else ()
            self._aggregated(name, tuple(f for f in FUNCTIONS if f not in drops))
            if self.deletes == "retract" and self.functions[name] not in RETRACTING:
                self.options[f"fields.{name}.ignore-retract"] = "true"
        if r.random() < 0.3:  # a column without a function of its own
            self.columns["d"] = r.choice(["INT", "STRING"])
            if r.random() < 0.5:
                self.options["fields.default-aggregate-function"] = "last_value"
        if self.deletes != "delete":
            self._sequence_field(0.25)

    def _aggregated(self, name, among):
        r = self.r
        function = r.choice(among)
        self.columns[name] = r.choice(FUNCTIONS[function])
        self.functions[name] = function
        self.options[f"fields.{name}.aggregate-function"] = function
        if function == "collect" and r.random() < 0.4:
            self.options[f"fields.{name}.distinct"] = "true"
        if function == "listagg" and r.random() < 0.5:
            self.options[f"fields.{name}.list-agg-delimiter"] = r.choice([";", "--"])
        if function == "nested_update":
            if r.random() < 0.6:
                self.options[f"fields.{name}.nested-key"] = "k"
            else:
                self.options[f"fields.{name}.count-limit"] = "3"

    # ---- modes

    def _adds_up(self):
        """Whether results of neighbouring runs can be merged in any order."""
        if self.engine in ("deduplicate", "first-row"):
            return True
        return self.deletes in (None, "ignored") and not self.sequence and not self.groups

    def _modes(self):
        r = self.r
        self.exact = True
        if self._adds_up() and self.producer != "full-compaction":
            if r.random() < 0.6:
                self.options["num-sorted-run.compaction-trigger"] = r.choice(["2", "3", "5"])
        else:
            self.options["num-sorted-run.compaction-trigger"] = "50"
        if self.mode == "deletion vectors":
            self.options["deletion-vectors.enabled"] = "true"
            if r.random() < 0.4:
                self.options["deletion-vectors.bitmap64"] = "true"
        elif self.mode == "full compaction every commit":
            self.options["full-compaction.delta-commits"] = "1"
        if self.row_deduplicate:
            self.options["changelog-producer.row-deduplicate"] = "true"
            plain = [n for n in self.columns if n not in self.sequence]
            if plain and r.random() < 0.5:
                self.options["changelog-producer.row-deduplicate-ignore-fields"] = r.choice(plain)
        for key, values in r.sample(SPICE, r.choice([0, 1, 2])):
            value = r.choice(values)
            if key == "num-levels" and self.options.get("num-sorted-run.compaction-trigger") == "50":
                continue
            if value == "uncompressed" and self.bucket == "postpone":
                continue  # no codec of Avro, in which the rows wait
            self.options[key] = value

    # ---- rows

    def _small(self, function, text):
        """A value that sums and products of many cannot take out of the type, and that every order of adding leaves exact."""
        r = self.r
        number = r.choice([1, 2, 1, -1]) if function == "product" else r.randint(-3, 3)
        if text.startswith("DECIMAL"):
            scale = encoding.parse_type(text).numbers[1]
            return f"{number}." + "5".ljust(scale, "0") if number >= 0 else f"{number}." + "0" * scale
        return number * 1.0 if text in ("FLOAT", "DOUBLE") else number

    def _value(self, name, text):
        value = self._any_value(name, text)
        return comparable(value) if self.row_deduplicate else value

    def _any_value(self, name, text):
        r, function = self.r, self.functions.get(name)
        if function and r.random() < 1 / 7:
            return None
        if function in ("sum", "product"):
            return self._small(function, text)
        if function in ("max", "min"):
            return self.g.value(text, nullable=False, key=True)
        if function in ("rbm32", "rbm64"):
            return r.choice(bitmaps(function))
        if function == "listagg":
            return r.choice(["amber", "birch", "cedar", "dunes"])
        if function == "collect":
            elements = list(range(1, 6)) if text == "ARRAY<INT>" else list("abcd")
            count = r.randint(0, 3)
            return r.sample(elements, count) if f"fields.{name}.distinct" in self.options else r.choices(elements, k=count)
        if function == "nested_update":
            return [{"k": k, "v": r.choice(["one", "two", None])} for k in r.sample(range(1, 5), r.randint(0, 3))]
        return self.g.value(text)

    def _row(self, key):
        row = {name: self._value(name, text) for name, text in self.columns.items()}
        row |= {name: self.r.choice(values) for name, values in self.partition_pool.items()}
        return row | key

    def steps(self):
        r = self.r
        self.partition_pool = {n: [self._partition_value(t) for _ in range(3)] for n, t in self.partition_types.items()}
        drawn = []
        for _ in range(r.choice([4, 12, 30])):
            key = {n: self.g.value(t, nullable=False, key=True) for n, t in self.key_types.items()}
            drawn.append(key | ({} if self.bucket == "cross-partition" else {n: r.choice(v) for n, v in self.partition_pool.items()}))
        self.pool = list({encoding.dump(key): key for key in drawn}.values())
        self.live, self.highest, self.deleted = {}, {}, set()
        self.places = {}  # of keys that lie in one partition for good, whatever their rows name: the partition values
        rows = r.choice([1, 6, 15, 25])
        out = []
        for _ in range(r.randint(4, 6)):
            if out and r.random() < 0.3:
                out.append(("compact", self._full()))
            out.append(("write", self._session(rows, r.choice([1, 1, 2, 3]))))
        out.append(("compact", self._full() if self.producer in ("none", "input") and self.bucket != "postpone" else True))
        return out

    def _full(self):
        return True if self.options.get("num-sorted-run.compaction-trigger") == "50" else self.r.random() < 0.5

    def _partition_value(self, text):
        value = self.g.value(text, nullable=False)
        return value.replace("/", "_").replace("\0", "_") if text == "STRING" and self.looks_up else value

    def _session(self, rows, commits):
        """The batches of one writer."""
        self.places = {number: place for number, place in self.places.items() if number in self.live}  # it does not know of dead keys
        self.gone = set()
        batches = []
        for _ in range(commits):
            before = set(self.live)
            batches.append(self._batch(rows))
            if self.mode == "deletion vectors" and self.deletes == "delete":
                self.gone |= before - set(self.live)
        return batches

    def _batch(self, rows):
        batch = []
        for _ in range(rows):
            number = self.r.randrange(len(self.pool))
            if number not in self.gone:
                batch += self._turn(number)
        if "rk" in self.columns:
            batch = [{**row, "rk": row["_rowkind"]} for row in batch]
        return batch

    def _turn(self, number):
        """One thing that happens to a key: a row, or a row and another."""
        r = self.r
        row = self._row(self.pool[number])
        if number in self.live and r.random() < 0.2:
            row = {n: v for n, v in self.live[number].items() if n != "_rowkind"}  # the same again: an update that changes nothing
        self._order(row, number, deleting=False)
        self.places.setdefault(number, {n: row[n] for n in self.partitions})
        if number in self.live and r.random() < 0.25 and self.deletes:
            return [self._retraction(row, number)]
        if self.deletes == "delete" and self.engine == "deduplicate" and number in self.live and r.random() < 0.15:
            before = {**self.live[number], "_rowkind": "-U"}
            if not self.sequence:
                self.live[number] = row
                return [before, {"_rowkind": "+U", **row}]
        self.live[number] = row
        return [{"_rowkind": r.choice(["+I", "+I", "+U"]), **row}]

    def _retraction(self, row, number):
        r = self.r
        kind = "-D"
        if self.deletes == "ignored":
            return {"_rowkind": r.choice(["-D", "-U"]), **row, **self.places[number]}
        if self.deletes == "retract":
            return {"_rowkind": r.choice(["-D", "-U"]), **row}
        self._order(row, number, deleting=True)
        if self.engine != "deduplicate":
            kept = set(self.primary) | set(self.partitions) | set(self.sequence) | {n for order, _ in self.groups for n in order}
            row = {n: v if n in kept else None for n, v in row.items()}
        if self.bucket == "cross-partition":
            row |= {n: self.live[number][n] for n in self.partitions} if self.engine == "deduplicate" else self.places[number]
        self.live.pop(number)
        self.deleted.add(number)
        return {"_rowkind": kind, **row}

    def _order(self, row, number, deleting):
        """sequence.field and the sequences of groups: mostly rising, at times late or null; after a delete always later."""
        r = self.r
        late = number not in self.deleted and not deleting
        for field in self.sequence:
            top = self.highest.get((number, field), 0)
            row[field] = r.choice([top + 3, top + 1, top, max(0, top - 2), None]) if late else top + r.randint(1, 5)
            self.highest[number, field] = max(top, row[field] or 0)
        for order, fields in self.groups:
            for field in order:
                top = self.highest.get((number, field), 0)
                choices = [top + 3, top + 1, top + 1, top, max(0, top - 2), None]
                row[field] = r.choice(choices) if late else top + r.randint(1, 5)
                self.highest[number, field] = max(top, row[field] or 0)
            if all(row[field] is None for field in order):
                row |= {field: None for field in fields}


def draw(seed, n, combination):
    """Table n of a seed."""
    r = random.Random(f"engines {seed} {n}")
    drawing = Drawing(r, f"db.t{n}", *combination)
    # Java loads the first rows of a table whose keys move at once, and so tells fewer changes of them.
    exact = drawing.exact and combination[3] != "cross-partition"
    return Play(drawing.table, *combination, drawing.steps(), exact)
