"""Arrow values as the JSON that all programs of these tests share; used by every peer in Python. Needs pyarrow, whatever its version."""

import datetime

import encoding

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = datetime.date(1970, 1, 1)


def to_json(scalar, t):
    """An Arrow scalar as a JSON value of Paimon type t."""
    if not scalar.is_valid:
        return None
    if t.root == "FLOAT":
        return encoding.floating(encoding.float32(scalar.as_py()))
    if t.root == "DOUBLE":
        return encoding.floating(scalar.as_py())
    if t.root in ("BINARY", "VARBINARY", "BYTES"):
        return scalar.as_py().hex()
    if t.root == "DECIMAL":
        return format(scalar.as_py(), "f")
    if t.root == "DATE":
        return _date(scalar.value)
    if t.root == "TIME":
        return _time(scalar.value * (10**9 // UNITS[scalar.type.unit]), 3)
    if t.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return _timestamp(scalar, t)
    if t.root == "ARRAY":
        return [to_json(e, t.children[0]) for e in scalar.values]
    if t.root in ("MAP", "MULTISET"):
        value_type = t.children[1] if t.root == "MAP" else encoding.Type("INT")
        entries = scalar.values  # an array of key-value structs
        pairs = [(to_json(k, t.children[0]), to_json(v, value_type)) for k, v in zip(entries.field(0), entries.field(1))]
        return encoding.sorted_pairs(pairs)
    if t.root == "ROW":
        return {name: to_json(scalar[name], child) for name, child in t.children}
    return scalar.as_py()


def _date(days):
    d = EPOCH + datetime.timedelta(days=days)
    return f"{d.year:04d}-{d.month:02d}-{d.day:02d}"


def _time(nanos, digits):
    seconds, fraction = divmod(nanos, 10**9)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return text if digits == 0 else f"{text}.{fraction:09d}"[: len(text) + 1 + digits]


def _timestamp(scalar, t):
    nanos = scalar.value * (10**9 // UNITS[scalar.type.unit])
    days, rest = divmod(nanos, 86_400 * 10**9)
    return _date(days) + "T" + _time(rest, t.numbers[0]) + ("Z" if t.root == "TIMESTAMP_LTZ" else "")


def lines_of(arrow, types, names, head=lambda row: {}):
    columns = {name: arrow.column(name) for name in arrow.column_names}
    out = []
    for i in range(arrow.num_rows):
        row = head({name: column[i] for name, column in columns.items()})
        for name in names:
            row[name] = to_json(columns[name][i], types[name])
        out.append(encoding.dump(row))
    return out
