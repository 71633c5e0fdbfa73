#!/usr/bin/env python3
"""Three more readers behind the JSON line protocol of the peers: pypaimon-rust, DuckDB and pyarrow.

Runs under the virtual environment .venv-readers that scripts/bootstrap makes. pypaimon-rust reads a table, the other two know
nothing of Paimon and read data files: what they are given must hold a row of the table a row, as after a full compaction.
Operations: rust, duckdb, pyarrow, layout (how the columns of data files are encoded), ping.
"""

import json
import os
import pathlib
import sys
import traceback

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pypaimon_rust.datafusion import PaimonCatalog

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arrow_json  # noqa: E402  (beside this file)
import encoding  # noqa: E402


def types_of(path):
    """The columns of the table, by its newest schema file."""
    newest = max(pathlib.Path(path, "schema").glob("schema-*"), key=lambda file: int(file.name.removeprefix("schema-")))
    fields = json.loads(newest.read_text(encoding="utf-8"))["fields"]
    return {field["name"]: encoding.from_schema_json(field["type"]) for field in fields}


def lines(arrow, path):
    types = types_of(path)
    return sorted(arrow_json.lines_of(arrow, types, list(types)))


def rust(request):
    """The rows of a table's latest snapshot, merged."""
    path = pathlib.Path(request["path"])
    table = PaimonCatalog({"warehouse": str(path.parent.parent)}).get_table(f"{path.parent.stem}.{path.name}")
    builder = table.new_read_builder()
    batches = []
    for split in builder.new_scan().plan().splits():
        batches += builder.new_read().read_arrow([split])
    return lines(pa.Table.from_batches(batches), path) if batches else []


def files_duckdb(request):
    columns = ", ".join(f'"{name}"' for name in types_of(request["path"]))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    read = connection.execute(f"SELECT {columns} FROM read_parquet(?)", [request["files"]])
    return lines(read.to_arrow_table(), request["path"])


def files_pyarrow(request):
    names = list(types_of(request["path"]))
    tables = [pq.ParquetFile(file).read(columns=names) for file in request["files"]]
    return lines(pa.concat_tables(tables), request["path"])


def layout(request):
    """A line a row group and column: what it is encoded with."""
    out = []
    for file in request["files"]:
        meta = pq.read_metadata(file)
        for group in range(meta.num_row_groups):
            for i in range(meta.num_columns):
                chunk = meta.row_group(group).column(i)
                out.append(encoding.dump({"file": file, "group": group, "column": chunk.path_in_schema, "rows": chunk.num_values,
                                          "encodings": list(chunk.encodings), "codec": chunk.compression}))
    return out


OPERATIONS = {"rust": rust, "duckdb": files_duckdb, "pyarrow": files_pyarrow, "layout": layout, "ping": lambda request: {"peer": "readers"}}


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not come between the answers
    for line in sys.stdin:
        try:
            result = OPERATIONS[(request := json.loads(line))["op"]](request)
            answer = {"ok": True, "lines" if isinstance(result, list) else "value": result}
        except BaseException as error:  # a panic in Rust is no Exception
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        answers.write(encoding.dump(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
