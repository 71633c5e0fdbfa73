package headrace.peer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.types.RowType;

/** Reads tables with Java Paimon: a snapshot's rows, and the changes after one. */
final class Reading {
    private Reading() {}

    /** "snapshot" or the latest; "columns"; "placement" adds _partition and _bucket; "ordered" keeps the reader's order. */
    static List<String> scan(Request r) throws Exception {
        FileStoreTable table = Tables.open(r);
        if (r.has("snapshot")) {
            table = table.copy(Map.of("scan.snapshot-id", r.text("snapshot")));
        }
        ReadBuilder builder = table.newReadBuilder();
        RowType type = table.rowType();
        if (r.has("columns")) {
            type = type.project(r.texts("columns"));
            builder = builder.withReadType(type);
        }
        RowType readType = type;
        RowType partitionType = table.schema().logicalPartitionType();
        List<String> lines = new ArrayList<>();
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"))) {
            for (Split s : builder.newScan().plan().splits()) {
                DataSplit split = (DataSplit) s;
                each(builder, split, io, row -> {
                    Map<String, Object> out = new LinkedHashMap<>();
                    if (r.flag("placement")) {
                        out.put("_partition", Values.rowToJson(partitionType, split.partition()));
                        out.put("_bucket", split.bucket());
                    }
                    Values.rowInto(out, readType, row);
                    lines.add(Json.write(out));
                });
            }
        }
        if (!r.flag("ordered")) {
            lines.sort(Text.BY_CODE_POINT);
        }
        return lines;
    }

    /** A streaming read from snapshot "from" up to and with "to" (the latest when not given), in the order delivered. */
    static List<String> changes(Request r) throws Exception {
        FileStoreTable table = Tables.open(r);
        long to = r.has("to") ? r.number("to") : table.snapshotManager().latestSnapshotId();
        table = table.copyWithoutTimeTravel(Map.of("scan.mode", "from-snapshot", "scan.snapshot-id", r.text("from", "1")));
        ReadBuilder builder = table.newReadBuilder();
        RowType type = table.rowType();
        StreamTableScan scan = builder.newStreamScan();
        List<String> lines = new ArrayList<>();
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"))) {
            while (scan.checkpoint() == null || scan.checkpoint() <= to) {
                for (Split s : scan.plan().splits()) {
                    DataSplit split = (DataSplit) s;
                    if (split.snapshotId() > to) {
                        continue;
                    }
                    each(builder, split, io, row -> {
                        Map<String, Object> out = new LinkedHashMap<>();
                        out.put("_rowkind", row.getRowKind().shortString());
                        out.put("_snapshot", split.snapshotId());
                        Values.rowInto(out, type, row);
                        lines.add(Json.write(out));
                    });
                }
            }
        }
        return lines;
    }

    private static void each(ReadBuilder builder, Split split, IOManager io, Consumer<InternalRow> rows) throws Exception {
        try (RecordReader<InternalRow> reader = builder.newRead().withIOManager(io).createReader(split)) {
            for (RecordReader.RecordIterator<InternalRow> batch; (batch = reader.readBatch()) != null; batch.releaseBatch()) {
                for (InternalRow row; (row = batch.next()) != null; ) {
                    rows.accept(row);
                }
            }
        }
    }
}
