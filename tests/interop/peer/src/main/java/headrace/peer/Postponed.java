package headrace.peer;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/**
 * The compaction of bucket=-2, which in Paimon belongs to the engines: the rows that wait in a partition go in the order of their files
 * through an ordinary writer into real buckets, and the files that held them end in the same commit, all of kind COMPACT.
 */
final class Postponed {
    private final FileStoreTable table;
    private final String user;

    Postponed(FileStoreTable table, String user) {
        this.table = table;
        this.user = user;
    }

    List<CommitMessage> compact(long identifier, boolean full) throws Exception {
        Map<BinaryRow, List<DataSplit>> waiting = new LinkedHashMap<>();
        for (Split s : table.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET).read().splits()) {
            DataSplit split = (DataSplit) s;
            waiting.computeIfAbsent(split.partition(), p -> new ArrayList<>()).addAll(byFile(split));
        }
        List<CommitMessage> out = new ArrayList<>();
        for (Map.Entry<BinaryRow, List<DataSplit>> partition : waiting.entrySet()) {
            List<DataSplit> files = partition.getValue();
            files.sort(Comparator.comparing(f -> f.dataFiles().get(0).creationTime()));
            out.addAll(intoBuckets(partition.getKey(), files, identifier, full));
            for (DataSplit file : files) {
                out.add(new CommitMessageImpl(file.partition(), file.bucket(), file.totalBuckets(), DataIncrement.emptyIncrement(),
                        new CompactIncrement(file.dataFiles(), List.of(), List.of())));
            }
        }
        return out;
    }

    private static List<DataSplit> byFile(DataSplit split) {
        List<DataSplit> out = new ArrayList<>();
        for (DataFileMeta file : split.dataFiles()) {
            out.add(DataSplit.builder().withPartition(split.partition()).withBucket(split.bucket()).withBucketPath(split.bucketPath())
                    .withTotalBuckets(split.totalBuckets()).withDataFiles(new ArrayList<>(List.of(file))).isStreaming(false).build());
        }
        return out;
    }

    private List<CommitMessage> intoBuckets(BinaryRow partition, List<DataSplit> files, long identifier, boolean full) throws Exception {
        FileStoreTable real = withBuckets(bucketsOf(partition));
        List<CommitMessage> out = new ArrayList<>();
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = real.newWrite(user).withIOManager(io);
                Routing routing = new Routing(real, write, user, io)) {
            for (DataSplit file : files) {
                try (RecordReader<InternalRow> reader = real.newReadBuilder().newRead().withIOManager(io).createReader(file)) {
                    reader.forEachRemaining(row -> take(routing, row));
                }
            }
            if (full) {
                for (int bucket : routing.touched().getOrDefault(partition, new java.util.TreeSet<>())) {
                    write.compact(partition, bucket, true);
                }
            }
            for (CommitMessage message : write.prepareCommit(true, identifier)) {
                out.add(asCompaction((CommitMessageImpl) message));
            }
        }
        return out;
    }

    private static void take(Routing routing, InternalRow row) {
        try {
            routing.write(row);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private int bucketsOf(BinaryRow partition) {
        for (ManifestEntry e : table.store().newScan().onlyReadRealBuckets().plan().files()) {
            if (e.partition().equals(partition)) {
                return e.totalBuckets();
            }
        }
        return Integer.parseInt(table.options().getOrDefault("postpone.default-bucket-num", "1"));
    }

    private FileStoreTable withBuckets(int count) {
        Map<String, String> options = new LinkedHashMap<>(table.options());
        options.put("bucket", Integer.toString(count));
        options.put("write-only", "false");
        return table.copy(table.schema().copy(options));
    }

    /** What was written and what compacting it made, as the outcome of a compaction alone. */
    private static CommitMessage asCompaction(CommitMessageImpl message) {
        DataIncrement data = message.newFilesIncrement();
        CompactIncrement compact = message.compactIncrement();
        Map<String, DataFileMeta> after = new LinkedHashMap<>();
        data.newFiles().forEach(f -> after.put(f.fileName(), f));
        List<DataFileMeta> before = new ArrayList<>();
        for (DataFileMeta f : compact.compactBefore()) {
            if (after.remove(f.fileName()) == null) {
                before.add(f);
            }
        }
        compact.compactAfter().forEach(f -> after.put(f.fileName(), f));
        List<DataFileMeta> changelog = new ArrayList<>(data.changelogFiles());
        changelog.addAll(compact.changelogFiles());
        List<IndexFileMeta> added = new ArrayList<>(data.newIndexFiles());
        added.addAll(compact.newIndexFiles());
        List<IndexFileMeta> removed = new ArrayList<>(data.deletedIndexFiles());
        removed.addAll(compact.deletedIndexFiles());
        return new CommitMessageImpl(message.partition(), message.bucket(), message.totalBuckets(), DataIncrement.emptyIncrement(),
                new CompactIncrement(before, new ArrayList<>(after.values()), changelog, added, removed));
    }
}
