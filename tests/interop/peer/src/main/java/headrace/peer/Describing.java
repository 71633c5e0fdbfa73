package headrace.peer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.paimon.FileStore;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.fs.Path;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ScanMode;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;

/** What Java Paimon finds in a table's metadata: a short form for fixtures, and every field of every manifest. */
final class Describing {
    private static final HexFormat HEX = HexFormat.of();

    private final FileStoreTable table;
    private final FileStore<?> store;
    private final RowType partitionType;
    private final List<String> lines = new ArrayList<>();

    private Describing(FileStoreTable table) {
        this.table = table;
        this.store = table.store();
        this.partitionType = table.schema().logicalPartitionType();
    }

    /** Schemas, snapshots, live files of the latest snapshot, changelog files by snapshot. */
    static List<String> info(Request r) throws IOException {
        Describing d = new Describing(Tables.open(r));
        d.schemas();
        for (Snapshot s : d.snapshots()) {
            Map<String, Object> out = line("snapshot");
            out.put("id", s.id());
            out.put("schemaId", s.schemaId());
            out.put("commitKind", s.commitKind().toString());
            out.put("commitIdentifier", s.commitIdentifier());
            out.put("totalRecordCount", s.totalRecordCount());
            out.put("deltaRecordCount", s.deltaRecordCount());
            out.put("changelogRecordCount", s.changelogRecordCount() == null ? 0 : s.changelogRecordCount());
            out.put("hasChangelog", s.changelogManifestList() != null);
            out.put("hasIndexManifest", s.indexManifest() != null);
            out.put("hasStatistics", s.statistics() != null);
            d.emit(out);
        }
        for (ManifestEntry e : d.liveFiles()) {
            d.emit(d.file(line("file"), e));
        }
        for (Snapshot s : d.snapshots()) {
            for (ManifestEntry e : d.store.newScan().withSnapshot(s).withKind(ScanMode.CHANGELOG).plan().files()) {
                Map<String, Object> out = line("changelogFile");
                out.put("snapshot", s.id());
                d.emit(d.file(out, e));
            }
        }
        return d.lines;
    }

    /** Manifest lists, manifests and entries of every snapshot, with keys and statistics both read and as bytes. */
    static List<String> entries(Request r) throws IOException {
        Describing d = new Describing(Tables.open(r));
        for (Snapshot s : d.snapshots()) {
            d.manifests(s, "base", s.baseManifestList());
            d.manifests(s, "delta", s.deltaManifestList());
            d.manifests(s, "changelog", s.changelogManifestList());
        }
        for (ManifestEntry e : d.liveFiles()) {
            d.emit(d.fullEntry(line("live"), e));
        }
        return d.lines;
    }

    /** The base list only by its manifests: their entries have been seen in the deltas before. */
    private void manifests(Snapshot s, String list, String name) {
        if (name == null) {
            return;
        }
        for (ManifestFileMeta m : table.manifestListReader().read(name)) {
            Map<String, Object> out = line("manifest");
            out.put("snapshot", s.id());
            out.put("list", list);
            out.put("name", m.fileName());
            out.put("size", m.fileSize());
            out.put("added", m.numAddedFiles());
            out.put("deleted", m.numDeletedFiles());
            out.put("partitionStats", stats(partitionType, m.partitionStats()));
            out.put("schemaId", m.schemaId());
            out.put("minBucket", m.minBucket());
            out.put("maxBucket", m.maxBucket());
            out.put("minLevel", m.minLevel());
            out.put("maxLevel", m.maxLevel());
            emit(out);
            if (list.equals("base")) {
                continue;
            }
            for (ManifestEntry e : table.manifestFileReader().read(m.fileName())) {
                Map<String, Object> entry = line("entry");
                entry.put("snapshot", s.id());
                entry.put("list", list);
                entry.put("op", e.kind().toString());
                emit(fullEntry(entry, e));
            }
        }
    }

    private void schemas() {
        List<TableSchema> schemas = new ArrayList<>(table.schemaManager().listAll());
        schemas.sort(Comparator.comparing(TableSchema::id));
        for (TableSchema s : schemas) {
            Map<String, Object> out = line("schema");
            out.put("id", s.id());
            out.put("fields", s.fields().size());
            out.put("highestFieldId", s.highestFieldId());
            emit(out);
        }
    }

    private List<Snapshot> snapshots() throws IOException {
        TreeMap<Long, Snapshot> byId = new TreeMap<>();
        table.snapshotManager().snapshots().forEachRemaining(s -> byId.put(s.id(), s));
        return new ArrayList<>(byId.values());
    }

    private List<ManifestEntry> liveFiles() {
        return table.snapshotManager().latestSnapshotId() == null ? List.of() : store.newScan().plan().files();
    }

    private Map<String, Object> file(Map<String, Object> out, ManifestEntry e) {
        DataFileMeta f = e.file();
        out.put("partition", Values.rowToJson(partitionType, e.partition()));
        out.put("bucket", e.bucket());
        out.put("totalBuckets", e.totalBuckets());
        out.put("level", f.level());
        out.put("rows", f.rowCount());
        out.put("deleteRows", f.deleteRowCount().orElse(null));
        out.put("minSequence", f.minSequenceNumber());
        out.put("maxSequence", f.maxSequenceNumber());
        out.put("schemaId", f.schemaId());
        out.put("size", f.fileSize());
        out.put("name", f.fileName());
        out.put("dir", relative(store.pathFactory().bucketPath(e.partition(), e.bucket())));
        out.put("extraFiles", f.extraFiles());
        out.put("embeddedIndexBytes", f.embeddedIndex() == null ? null : f.embeddedIndex().length);
        out.put("source", f.fileSource().map(FileSource::toString).orElse(null));
        out.put("valueStatsCols", f.valueStatsCols());
        out.put("externalPath", f.externalPath().isPresent());
        return out;
    }

    private Map<String, Object> fullEntry(Map<String, Object> out, ManifestEntry e) {
        DataFileMeta f = e.file();
        file(out, e);
        TableSchema schema = table.schemaManager().schema(f.schemaId());
        RowType keyType = schema.logicalTrimmedPrimaryKeysType();
        out.put("partitionBytes", HEX.formatHex(e.partition().toBytes()));
        out.put("minKey", row(keyType, f.minKey()));
        out.put("maxKey", row(keyType, f.maxKey()));
        out.put("keyStats", stats(keyType, f.keyStats()));
        out.put("valueStats", stats(valueStatsType(schema, f), f.valueStats()));
        out.put("hasCreationTime", f.creationTime() != null);
        out.put("firstRowId", f.firstRowId());
        out.put("writeCols", f.writeCols());
        return out;
    }

    /** Statistics are of all columns, or of those that the file names. */
    private static RowType valueStatsType(TableSchema schema, DataFileMeta f) {
        if (f.valueStatsCols() == null) {
            return schema.logicalRowType();
        }
        List<DataField> fields = new ArrayList<>();
        for (String name : f.valueStatsCols()) {
            fields.add(schema.nameToFieldMap().get(name));
        }
        return new RowType(fields);
    }

    private static Map<String, Object> stats(RowType type, SimpleStats stats) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("min", row(type, stats.minValues()));
        out.put("max", row(type, stats.maxValues()));
        BinaryArray counts = stats.nullCounts();
        List<Object> nulls = new ArrayList<>();
        for (int i = 0; counts != null && i < counts.size(); i++) {
            nulls.add(counts.isNullAt(i) ? null : counts.getLong(i));
        }
        out.put("nullCounts", nulls);
        return out;
    }

    /** The bytes, and the values where the row has the fields that its type says (statistics may be left out altogether). */
    private static Map<String, Object> row(RowType type, BinaryRow row) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("fields", row.getFieldCount());
        out.put("bytes", HEX.formatHex(row.toBytes()));
        out.put("values", row.getFieldCount() == type.getFieldCount() ? Values.rowToJson(type, row) : null);
        return out;
    }

    private String relative(Path path) {
        String root = table.location().toUri().getPath();
        String p = path.toUri().getPath();
        return p.startsWith(root + "/") ? p.substring(root.length() + 1) : p;
    }

    private static Map<String, Object> line(String kind) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("kind", kind);
        return out;
    }

    private void emit(Map<String, Object> out) {
        lines.add(Json.write(out));
    }
}
