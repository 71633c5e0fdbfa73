package headrace.peer;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.AppendOnlyFileStore;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.table.AppendOnlyFileStoreTable;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/** Writes rows and compacts, with Java Paimon's own writers and committer. */
final class Writing {
    private Writing() {}

    /**
     * "rows" (objects) or "input" (a file of JSON lines), each with an optional "_rowkind"; rows of one "_commit" go into one
     * commit, in rising order. One writer does them all; "wait" makes each commit wait for the compaction that it started. "compacting"
     * does what Flink's sink does: every so many commits as full-compaction.delta-commits says, all buckets are compacted wholly.
     */
    static Map<String, Object> write(Request r) throws Exception {
        FileStoreTable table = Tables.open(r);
        String user = r.text("user", "java-peer");
        long identifier = r.has("identifier") ? r.number("identifier") : nextIdentifier(table, user);
        TreeMap<Long, List<GenericRow>> commits = group(table.rowType(), rows(r));
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = table.newWrite(user).withIOManager(io);
                TableCommitImpl commit = table.newCommit(user);
                Routing routing = new Routing(table, write, user, io)) {
            commit.ignoreEmptyCommit(!r.flag("commitEmpty"));
            for (List<GenericRow> rows : commits.values()) {
                for (GenericRow row : rows) {
                    routing.write(row);
                }
                routing.prepareCommit(identifier);
                boolean wholly = r.flag("compacting") && table.bucketMode() != BucketMode.POSTPONE_MODE
                        && isFullCompaction(table.coreOptions(), identifier);
                if (wholly) {
                    compactAll(table, write, routing.touched());
                }
                commit.commit(identifier, write.prepareCommit(r.flag("wait") || wholly, identifier));
                identifier++;
            }
        }
        return latest(table);
    }

    private static boolean isFullCompaction(CoreOptions options, long identifier) {
        boolean asked = options.changelogProducer() == CoreOptions.ChangelogProducer.FULL_COMPACTION;
        int every = Integer.parseInt(options.toMap().getOrDefault("full-compaction.delta-commits", asked ? "1" : "0"));
        return every > 0 && identifier % every == 0;
    }

    private static void compactAll(FileStoreTable table, TableWriteImpl<?> write, Map<BinaryRow, TreeSet<Integer>> written) throws Exception {
        Map<BinaryRow, TreeSet<Integer>> all = buckets(table);
        written.forEach((partition, buckets) -> all.computeIfAbsent(partition, p -> new TreeSet<>()).addAll(buckets));
        for (Map.Entry<BinaryRow, TreeSet<Integer>> partition : all.entrySet()) {
            for (int bucket : partition.getValue()) {
                write.compact(partition.getKey(), bucket, true);
            }
        }
    }

    private static Map<BinaryRow, TreeSet<Integer>> buckets(FileStoreTable table) {
        Map<BinaryRow, TreeSet<Integer>> out = new LinkedHashMap<>();
        for (ManifestEntry e : table.store().newScan().plan().files()) {
            out.computeIfAbsent(e.partition(), p -> new TreeSet<>()).add(e.bucket());
        }
        return out;
    }

    private static List<Map<String, Object>> rows(Request r) throws Exception {
        List<Map<String, Object>> out = new ArrayList<>();
        if (r.args().get("rows") instanceof List<?> list) {
            for (Object row : list) {
                @SuppressWarnings("unchecked")
                Map<String, Object> map = (Map<String, Object>) row;
                out.add(map);
            }
            return out;
        }
        try (BufferedReader in = Files.newBufferedReader(Path.of(r.text("input")))) {
            for (String line; (line = in.readLine()) != null; ) {
                if (!line.isBlank()) {
                    out.add(Json.parseObject(line));
                }
            }
        }
        return out;
    }

    private static TreeMap<Long, List<GenericRow>> group(RowType type, List<Map<String, Object>> rows) {
        TreeMap<Long, List<GenericRow>> out = new TreeMap<>();
        for (Map<String, Object> json : rows) {
            GenericRow row = Values.rowFromJson(type, json);
            if (json.get("_rowkind") instanceof String kind) {
                row.setRowKind(RowKind.fromShortString(kind));
            }
            long commit = json.get("_commit") instanceof Json.Num n ? n.asLong() : 1;
            out.computeIfAbsent(commit, c -> new ArrayList<>()).add(row);
        }
        return out;
    }

    /** Compacts every bucket that has files, "full" or as the universal policy picks; one COMPACT commit. */
    static Map<String, Object> compact(Request r) throws Exception {
        FileStoreTable table = Tables.open(r).copy(Map.of("write-only", "false"));
        String user = r.text("user", "java-compactor");
        long identifier = r.has("identifier") ? r.number("identifier") : nextIdentifier(table, user);
        try (TableCommitImpl commit = table.newCommit(user)) {
            commit.ignoreEmptyCommit(!r.flag("commitEmpty"));
            boolean full = r.flag("full");
            commit.commit(identifier, switch (table.bucketMode()) {
                case BUCKET_UNAWARE -> withoutBuckets(table, user);
                case POSTPONE_MODE -> new Postponed(table, user).compact(identifier, full);
                default -> byBucket(table, user, identifier, full);
            });
        }
        return latest(table);
    }

    private static List<CommitMessage> byBucket(FileStoreTable table, String user, long identifier, boolean full) throws Exception {
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = table.newWrite(user).withIOManager(io)) {
            for (Map.Entry<BinaryRow, TreeSet<Integer>> partition : buckets(table).entrySet()) {
                for (int bucket : partition.getValue()) {
                    write.compact(partition.getKey(), bucket, full);
                }
            }
            return write.prepareCommit(true, identifier);
        }
    }

    /** bucket=-1: a coordinator looks for small files, tasks rewrite them. */
    private static List<CommitMessage> withoutBuckets(FileStoreTable table, String user) throws Exception {
        List<CommitMessage> out = new ArrayList<>();
        AppendOnlyFileStore store = ((AppendOnlyFileStoreTable) table).store();
        BaseAppendFileStoreWrite write = store.newWrite(user);
        try {
            for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
                out.add(task.doCompact(table, write));
            }
        } finally {
            write.close();
        }
        return out;
    }

    private static long nextIdentifier(FileStoreTable table, String user) {
        return table.snapshotManager().latestSnapshotOfUser(user).map(Snapshot::commitIdentifier).orElse(0L) + 1;
    }

    private static Map<String, Object> latest(FileStoreTable table) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("snapshot", table.snapshotManager().latestSnapshotId());
        return out;
    }
}
