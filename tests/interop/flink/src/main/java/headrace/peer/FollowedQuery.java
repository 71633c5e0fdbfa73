package headrace.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/** A streaming query whose changes are taken in by a thread of its own: the rows that they add up to so far, as a multiset of lines. */
final class FollowedQuery implements AutoCloseable {
    private final TableResult result;
    private final TreeMap<String, Integer> rows = new TreeMap<>(Text.BY_CODE_POINT);
    private final Thread reader;
    private Throwable failure;
    private boolean closing;

    FollowedQuery(TableResult result) {
        this.result = result;
        this.reader = new Thread(this::read, "followed query");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        RowLines text = new RowLines(result.getResolvedSchema());
        try (CloseableIterator<Row> changes = result.collect()) {
            while (changes.hasNext()) {
                Row change = changes.next();
                boolean adds = change.getKind() == RowKind.INSERT || change.getKind() == RowKind.UPDATE_AFTER;
                synchronized (this) {
                    rows.merge(text.of(change), adds ? 1 : -1, Integer::sum);
                }
            }
        } catch (Throwable e) {
            synchronized (this) {
                failure = closing ? null : e;
            }
        }
    }

    synchronized List<String> rows() {
        if (failure != null) {
            throw new IllegalStateException("the query failed", failure);
        }
        List<String> out = new ArrayList<>();
        rows.forEach((line, count) -> {
            for (int i = 0; i < count; i++) {
                out.add(line);
            }
            if (count < 0) {
                out.add(count + " times: " + line);
            }
        });
        return out;
    }

    @Override
    public void close() throws Exception {
        synchronized (this) {
            closing = true;
        }
        result.getJobClient().orElseThrow().cancel().get();
        reader.join(10_000);
    }
}
