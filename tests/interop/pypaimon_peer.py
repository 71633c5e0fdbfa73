#!/usr/bin/env python3
"""pypaimon as a program, with the same requests and answers as the Java peer.

`pypaimon_peer.py serve` reads a JSON request a line and answers {"ok":true,"lines":[…]}, {"ok":true,"value":{…}} or
{"ok":false,"error":…}; `pypaimon_peer.py '{"op":"scan","path":DIR}'` answers one and prints the lines. Runs under the virtual
environment that scripts/bootstrap makes. Operations: create, write, scan, changes, parquet (the layout of one file), ping.

What pypaimon 2.1.0 was found not to do: compact; write changelog files; write deletes (only a table with rowkind.field can say
them); MULTISET. It writes TIMESTAMP(7) to (9) so that Java Paimon 1.3.1 fails to read them, cuts them to microseconds where it
merges, and reads Avro manifests only.
"""

import datetime
import decimal
import itertools
import json
import os
import sys
import traceback

import pyarrow as pa

from pypaimon import CatalogFactory, Schema
from pypaimon.read.streaming_table_scan import AsyncStreamingTableScan
from pypaimon.schema.data_types import DataField, DataTypeParser, PyarrowFieldParser
from pypaimon.table.file_store_table import FileStoreTable

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arrow_json  # noqa: E402  (beside this file)
import encoding  # noqa: E402


# ---- JSON to Arrow

def from_json(value, t, arrow):
    """What pa.array() takes for a JSON value of Paimon type t and Arrow type arrow."""
    if value is None:
        return None
    if t.root in ("FLOAT", "DOUBLE"):
        return float(value)
    if t.root in ("BINARY", "VARBINARY", "BYTES"):
        return bytes.fromhex(value)
    if t.root == "DECIMAL":
        return decimal.Decimal(value)
    if t.root == "DATE":
        return datetime.date.fromisoformat(value)
    if t.root == "TIME":
        return _nanos(value) // (10**9 // arrow_json.UNITS[arrow.unit])
    if t.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        date, time = value.rstrip("Z").split("T")
        nanos = (datetime.date.fromisoformat(date) - arrow_json.EPOCH).days * 86_400 * 10**9 + _nanos(time)
        return nanos // (10**9 // arrow_json.UNITS[arrow.unit])
    if t.root == "ARRAY":
        return [from_json(e, t.children[0], arrow.value_type) for e in value]
    if t.root in ("MAP", "MULTISET"):
        value_type = t.children[1] if t.root == "MAP" else encoding.Type("INT")
        return [(from_json(k, t.children[0], arrow.key_type), from_json(v, value_type, arrow.item_type)) for k, v in value]
    if t.root == "ROW":
        return {name: from_json(value[name], child, arrow.field(name).type) for name, child in t.children}
    return value


def _nanos(time):
    clock, _, fraction = time.partition(".")
    hours, minutes, seconds = map(int, clock.split(":"))
    return (hours * 3600 + minutes * 60 + seconds) * 10**9 + int(fraction.ljust(9, "0") or 0)


# ---- tables

def open_table(request):
    path = request.get("path")
    if path is None:
        database, name = request["table"].split(".", 1)
        path = f"{request['warehouse']}/{database}.db/{name}"
    table = FileStoreTable.from_path(path)
    options = request.get("options")
    return table.copy(options) if options else table


def field_types(table):
    return {f.name: encoding.from_schema_json(f.type.to_dict()) for f in table.fields}


def create(request):
    database, name = request["table"].split(".", 1)
    fields = request["fields"]
    pairs = fields.items() if isinstance(fields, dict) else [(f["name"], f["type"]) for f in fields]
    counter = itertools.count(len(pairs))  # ids inside rows come after those of the columns; pypaimon keeps what it is given
    columns = []
    for i, (column, text) in enumerate(pairs):
        parsed = encoding.to_schema_json(encoding.parse_type(text), lambda: next(counter))
        columns.append(DataField(i, column, DataTypeParser.parse_data_type(parsed)))
    schema = Schema(columns, partition_keys=request.get("partitionKeys", []), primary_keys=request.get("primaryKeys", []),
                    options=request.get("options", {}))
    catalog = CatalogFactory.create({"warehouse": request["warehouse"]})
    catalog.create_database(database, True)
    catalog.create_table(request["table"], schema, False)
    return {"path": f"{request['warehouse']}/{database}.db/{name}"}


def write(request):
    """Rows grouped by _commit, one commit a group. +I and +U are upserts; other kinds cannot be said without rowkind.field."""
    table = open_table(request)
    rows = request.get("rows")
    if rows is None:
        with open(request["input"], encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
    groups = {}
    for row in rows:
        if row.get("_rowkind", "+I") not in ("+I", "+U") and "rowkind.field" not in request.get("options", {}):
            raise ValueError(f"pypaimon writes no {row['_rowkind']} rows")
        groups.setdefault(row.get("_commit", 1), []).append(row)
    builder = table.new_stream_write_builder()
    if "user" in request:
        builder._with_commit_user(request["user"])
    types, schema = field_types(table), PyarrowFieldParser.from_paimon_schema(table.fields)
    identifier = request.get("identifier", 1)
    writer, committer = builder.new_write(), builder.new_commit()
    try:
        for i, key in enumerate(sorted(groups)):
            columns = []
            for f in schema:
                values = [from_json(row.get(f.name), types[f.name], f.type) for row in groups[key]]
                columns.append(pa.array(values, type=f.type))
            writer.write_arrow(pa.Table.from_arrays(columns, schema=schema))
            committer.commit(writer.prepare_commit(identifier + i), identifier + i)
    finally:
        writer.close()
        committer.close()
    return {"snapshot": table.snapshot_manager().get_latest_snapshot().id}


# ---- reading

def scan(request):
    if request.get("snapshot") is not None:
        request = dict(request, options={**request.get("options", {}), "scan.snapshot-id": str(request["snapshot"])})
    table = open_table(request)
    types = field_types(table)
    builder = table.new_read_builder()
    names = [f.name for f in table.fields]
    if request.get("columns"):
        names = request["columns"]
        builder = builder.with_projection(names)
    splits = builder.new_scan().plan().splits()
    arrow = builder.new_read().to_arrow(splits)
    lines = [] if arrow is None else arrow_json.lines_of(arrow, types, names)
    return lines if request.get("ordered") else sorted(lines)


def changes(request):
    """What a stream that starts at snapshot "from" is given for each snapshot up to "to", as pypaimon's own scan plans it."""
    table = open_table(request)
    types = field_types(table)
    names = [f.name for f in table.fields]
    manager = table.snapshot_manager()
    last = request.get("to") or manager.get_latest_snapshot().id
    stream = AsyncStreamingTableScan(table, prefetch_enabled=False, diff_threshold=10**9)
    read = table.new_stream_read_builder().with_include_row_kind().new_read()
    at, out = request.get("from", 1), []
    while at <= last:
        before = at
        snapshot, at, _ = manager.find_next_scannable(at, stream.follow_up_scanner.should_scan, lookahead_size=10)
        if at == before:
            raise ValueError(f"snapshot {at} is no longer there")
        if snapshot is None or snapshot.id > last:
            continue
        arrow = read.to_arrow(stream._create_follow_up_plan(snapshot).splits())
        if arrow is not None:
            out += arrow_json.lines_of(arrow, types, names, lambda row: {"_rowkind": row["_row_kind"].as_py(), "_snapshot": snapshot.id})
    return out


# ---- Parquet files

def parquet(request):
    """How a Parquet file is laid out, a line a column and one for the whole: names, ids, types, repetition, codec, encodings."""
    import pyarrow.parquet as pq
    with pq.ParquetFile(request["file"]) as file:
        meta, schema = file.metadata, file.schema
        out = [encoding.dump({"rows": meta.num_rows, "rowGroups": meta.num_row_groups})]
        for i in range(meta.num_columns):
            column = schema.column(i)
            chunk = meta.row_group(0).column(i) if meta.num_row_groups else None
            out.append(encoding.dump({
                "path": column.path, "physical": column.physical_type, "length": column.length, "logical": str(column.logical_type),
                "converted": column.converted_type, "definition": column.max_definition_level, "repetition": column.max_repetition_level,
                "codec": chunk.compression if chunk else None, "statistics": chunk.is_stats_set if chunk else None}))
        out += [encoding.dump({"field": path, "id": number}) for path, number in _field_ids(file.schema_arrow, "")]
    return out


def _field_ids(fields, parent):
    for field in fields:
        path = f"{parent}.{field.name}" if parent else field.name
        number = (field.metadata or {}).get(b"PARQUET:field_id")
        yield path, number and int(number)
        if pa.types.is_nested(field.type):
            yield from _field_ids([field.type.field(i) for i in range(field.type.num_fields)], path)


OPERATIONS = {"create": create, "write": write, "scan": scan, "changes": changes, "parquet": parquet, "ping": lambda request: {"peer": "pypaimon"}}


def serve():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not come between the answers
    for line in sys.stdin:
        try:
            result = OPERATIONS[(request := json.loads(line))["op"]](request)
            answer = {"ok": True, "lines" if isinstance(result, list) else "value": result}
        except Exception as error:
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        answers.write(encoding.dump(answer) + "\n")
        answers.flush()


def main():
    if sys.argv[1:] == ["serve"]:
        serve()
        return
    if len(sys.argv) != 2:
        sys.exit("usage: pypaimon_peer.py serve | JSON-REQUEST")
    request = json.loads(sys.argv[1])
    result = OPERATIONS[request["op"]](request)
    print("\n".join(result) if isinstance(result, list) else encoding.dump(result))


if __name__ == "__main__":
    main()
