"""A table as plain Python: what its rows must be after each commit, and which changes a stream must be given.

The model knows primary-key tables that deduplicate (with and without sequence.field) and append tables; changelog producers none
and input. It takes batches, one a commit; each row is a dict with an optional "_rowkind".
"""

import dataclasses
import json

import encoding

ADDS = ("+I", "+U")


@dataclasses.dataclass
class Table:
    """A table to make: column names to type texts, keys, options."""

    name: str  # "db.t"
    fields: dict
    primary_keys: list = dataclasses.field(default_factory=list)
    partition_keys: list = dataclasses.field(default_factory=list)
    options: dict = dataclasses.field(default_factory=dict)

    def definition(self):
        """What the peers' create takes."""
        return {"table": self.name, "fields": self.fields, "primaryKeys": self.primary_keys, "partitionKeys": self.partition_keys,
                "options": self.options}

    def path(self, warehouse):
        database, name = self.name.split(".")
        return f"{warehouse}/{database}.db/{name}"

    @property
    def keyed(self):
        return bool(self.primary_keys)


def row_line(row, fields):
    return encoding.dump({name: row.get(name) for name in fields})


class Model:
    def __init__(self, table):
        self.table = table
        self.states = [[]]   # rows after 0, 1, 2 … commits, as sorted lines
        self.changes = [[]]  # of each commit: lines with _rowkind, sorted; the n-th belongs to commit n
        self._live = {}      # of a keyed table: key to (order, kind, line)
        self._rows = []      # of an append table
        self._count = 0

    def commit(self, batch):
        """One commit of these rows, in this order."""
        latest = {}
        for row in batch:
            kind = row.get("_rowkind", "+I")
            line = row_line(row, self.table.fields)
            if not self.table.keyed:
                self._rows.append(line)
                continue
            self._count += 1
            entry = (self._order(row), kind, line)
            key = encoding.dump([row[k] for k in self.table.primary_keys])
            if key not in latest or entry[0] > latest[key][0]:
                latest[key] = entry
            if key not in self._live or entry[0] > self._live[key][0]:
                self._live[key] = entry
        if self.table.keyed:
            self.states.append(sorted(line for _, kind, line in self._live.values() if kind in ADDS))
        else:
            self.states.append(sorted(self._rows))
        if self.table.options.get("changelog-producer", "none") == "input" or not self.table.keyed:
            changes = [(row.get("_rowkind", "+I"), row_line(row, self.table.fields)) for row in batch]
        else:
            changes = [(kind, line) for _, kind, line in latest.values()]  # the write buffer merges before it writes
        self.changes.append(sorted(f"{kind} {line}" for kind, line in changes))

    def _order(self, row):
        """The larger wins: sequence fields (null is smallest), then what was written later."""
        fields = [f for f in self.table.options.get("sequence.field", "").split(",") if f]
        return [(row[f] is not None, row[f] if row[f] is not None else 0) for f in fields] + [(True, self._count)]

    @property
    def latest(self):
        return self.states[-1]

    def by_key(self):
        """Of a keyed table every key ever written, as a dict a piece, with its row's line now, or None when it is gone."""
        out = []
        for key, (_, kind, line) in self._live.items():
            out.append((dict(zip(self.table.primary_keys, json.loads(key))), line if kind in ADDS else None))
        return out
