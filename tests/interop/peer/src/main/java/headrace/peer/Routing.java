package headrace.peer;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.RowKeyExtractor;
import org.apache.paimon.table.sink.SinkRecord;
import org.apache.paimon.table.sink.TableWriteImpl;

/**
 * Gives each row to a writer with its bucket, as Paimon's engines do: by the key's hash, by the hash index of a dynamic table, or by
 * the index of all keys where a key may move between partitions. Remembers which buckets were written.
 */
final class Routing implements AutoCloseable {
    private interface Route {
        void take(InternalRow row) throws Exception;
    }

    private final TableWriteImpl<?> write;
    private final Route route;
    private final HashBucketAssigner hashes;
    private final GlobalIndexAssigner keys;
    private final Map<BinaryRow, TreeSet<Integer>> touched = new LinkedHashMap<>();

    Routing(FileStoreTable table, TableWriteImpl<?> write, String user, IOManager io) throws Exception {
        this.write = write;
        BucketMode mode = table.bucketMode();
        this.hashes = mode == BucketMode.HASH_DYNAMIC ? hashes(table, user) : null;
        this.keys = mode == BucketMode.KEY_DYNAMIC ? new GlobalIndexAssigner(table) : null;
        if (hashes != null) {
            RowKeyExtractor extractor = table.createRowKeyExtractor();
            this.route = row -> {
                extractor.setRecord(row);
                touch(write.writeAndReturn(row, hashes.assign(extractor.partition(), extractor.trimmedPrimaryKey().hashCode())));
            };
        } else if (keys != null) {
            keys.open(1 << 20, io, 1, 0, this::withBucket);
            new IndexBootstrap(table).bootstrap(1, 0, this::known);
            keys.endBoostrap(false);
            this.route = keys::processInput;
        } else {
            this.route = row -> touch(write.writeAndReturn(row));
        }
    }

    private static HashBucketAssigner hashes(FileStoreTable table, String user) {
        CoreOptions options = table.coreOptions();
        return new HashBucketAssigner(table.snapshotManager(), user, table.store().newIndexFileHandler(), 1, 1, 0,
                options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets());
    }

    private void known(InternalRow key) {
        try {
            keys.bootstrapKey(key);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void withBucket(InternalRow row, int bucket) {
        try {
            touch(write.writeAndReturn(row, bucket));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void touch(SinkRecord record) {
        if (record != null) { // an ignored row has none
            touched.computeIfAbsent(record.partition().copy(), p -> new TreeSet<>()).add(record.bucket());
        }
    }

    void write(InternalRow row) throws Exception {
        route.take(row);
    }

    Map<BinaryRow, TreeSet<Integer>> touched() {
        return touched;
    }

    /** Before each commit. */
    void prepareCommit(long identifier) {
        if (hashes != null) {
            hashes.prepareCommit(identifier);
        }
    }

    @Override
    public void close() throws Exception {
        if (keys != null) {
            keys.close();
        }
    }
}
