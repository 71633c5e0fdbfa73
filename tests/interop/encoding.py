"""Types as SQL text, and the one JSON encoding of values that all programs of these tests share.

A row is a dict of column names to JSON values: integers, booleans and floats plain (NaN and the infinities as strings), decimals,
dates, times and timestamps as strings, binary as hex, arrays as lists, maps as lists of [key, value] sorted by the key's text,
rows as dicts. dump() makes the line that a program prints for it.
"""

import dataclasses
import json
import re
import struct
import typing


@dataclasses.dataclass(frozen=True)
class Type:
    """A Paimon type: its root in capitals, its numbers, its element types or fields, and whether it may be null."""

    root: str
    numbers: tuple = ()
    children: tuple = ()  # of Type; for a ROW of (name, Type)
    nullable: bool = True

    def __str__(self):
        if self.root == "ROW":
            text = "ROW<" + ", ".join(f"{name} {child}" for name, child in self.children) + ">"
        elif self.children:
            text = self.root + "<" + ", ".join(map(str, self.children)) + ">"
        elif self.root == "TIMESTAMP_LTZ":
            text = f"TIMESTAMP({self.numbers[0]}) WITH LOCAL TIME ZONE"
        elif self.numbers:
            text = self.root + "(" + ", ".join(map(str, self.numbers)) + ")"
        else:
            text = self.root
        return text if self.nullable else text + " NOT NULL"


_DEFAULT_NUMBERS = {"DECIMAL": (10, 0), "TIME": (0,), "TIMESTAMP": (6,), "TIMESTAMP_LTZ": (6,), "CHAR": (1,), "BINARY": (1,)}


def parse_type(text: str) -> Type:
    """Reads 'MAP<STRING, ROW<a INT, b DECIMAL(9, 2)>> NOT NULL'."""
    parsed, rest = _type(text.strip())
    if rest.strip():
        raise ValueError(f"type {text!r}: {rest!r} is left over")
    return parsed


def _type(text):
    root = re.match(r"\s*([A-Za-z_]+)", text)
    if not root:
        raise ValueError(f"no type begins {text!r}")
    name, rest = root.group(1).upper(), text[root.end():].lstrip()
    numbers, children = (), []
    if rest.startswith("("):
        end = rest.index(")")
        numbers = tuple(int(n) for n in rest[1:end].split(","))
        rest = rest[end + 1:]
    elif rest.startswith("<"):
        rest = rest[1:]
        while True:
            if name == "ROW":
                field = re.match(r"\s*`?(\w+)`?\s+", rest)
                child, rest = _type(rest[field.end():])
                children.append((field.group(1), child))
            else:
                child, rest = _type(rest)
                children.append(child)
            rest = rest.lstrip()
            end, rest = rest[0], rest[1:]
            if end == ">":
                break
    zone = re.match(r"\s*WITH(OUT)?( LOCAL)? TIME ZONE", rest)
    if zone:
        rest = rest[zone.end():]
        if not zone.group(1):
            name = "TIMESTAMP_LTZ"
    nullable = re.match(r"\s*NOT NULL", rest) is None
    if not nullable:
        rest = rest[re.match(r"\s*NOT NULL", rest).end():]
    return Type(name, numbers or _DEFAULT_NUMBERS.get(name, ()), tuple(children), nullable), rest


def to_schema_json(t: Type, next_id: typing.Callable[[], int]):
    """The type as a Paimon schema file writes it; fields inside rows get their ids from next_id, after their children's."""
    null = "" if t.nullable else " NOT NULL"
    if t.root in ("ARRAY", "MULTISET"):
        return {"type": t.root + null, "element": to_schema_json(t.children[0], next_id)}
    if t.root == "MAP":
        key = to_schema_json(t.children[0], next_id)
        return {"type": "MAP" + null, "key": key, "value": to_schema_json(t.children[1], next_id)}
    if t.root == "ROW":
        fields = []
        for name, child in t.children:
            inner = to_schema_json(child, next_id)
            fields.append({"id": next_id(), "name": name, "type": inner})
        return {"type": "ROW" + null, "fields": fields}
    return str(t)


def from_schema_json(value) -> Type:
    """The type of a field of a Paimon schema file."""
    if isinstance(value, str):
        return parse_type(value)
    nullable = "NOT NULL" not in value["type"]
    root = value["type"].split()[0].split("<")[0]
    if root == "ROW":
        children = tuple((f["name"], from_schema_json(f["type"])) for f in value["fields"])
    elif root == "MAP":
        children = (from_schema_json(value["key"]), from_schema_json(value["value"]))
    else:
        children = (from_schema_json(value["element"]),)
    return Type(root, (), children, nullable)


def dump(value) -> str:
    """The line for a row. Python writes a float in its shortest digits and in the same form as the other programs."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def float32(value: float) -> float:
    """The double whose shortest digits are those of the 32-bit float nearest to value."""
    if value != value or value in (float("inf"), float("-inf")) or value == 0:
        return value
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    for digits in range(1, 10):
        short = float(f"{single:.{digits - 1}e}")
        try:
            if struct.unpack("<f", struct.pack("<f", short))[0] == single:
                return short
        except OverflowError:  # rounded up past the largest float
            continue
    return single


def floating(value: float):
    """A float as JSON value: what JSON cannot say becomes a string."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def sorted_pairs(pairs):
    """A map's or multiset's JSON value."""
    return sorted(([k, v] for k, v in pairs), key=lambda pair: dump(pair[0]))
