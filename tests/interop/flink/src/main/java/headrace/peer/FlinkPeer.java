package headrace.peer;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Flink with Paimon as a program, with the same lines in and out as the other peer's {@code serve}. A cluster of one JVM runs all jobs;
 * a warehouse is a catalog of the same name, "w" by default.
 *
 * <pre>
 * run      {"warehouse", "sql": [statements], "mode": "batch"}   the last statement's rows, when it is a query
 * start    {"warehouse", "name", "sql"}                          a streaming INSERT that goes on
 * follow   {"warehouse", "name", "sql"}                          a streaming query that goes on; its rows so far are kept
 * collected {"name"}                                             what the rows of a followed query now are
 * status   {"name"}                                              of a started job; an error when it has failed
 * stop     {"name"}
 * </pre>
 */
public final class FlinkPeer {
    private final MiniCluster cluster;
    private final Map<String, TableEnvironment> environments = new HashMap<>();
    private final Map<String, TableResult> jobs = new HashMap<>();
    private final Map<String, FollowedQuery> queries = new HashMap<>();

    private FlinkPeer() throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("rest.bind-port", "0");
        configuration.setString("rest.address", "localhost");
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder().setConfiguration(configuration).setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(16).build());
        cluster.start();
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Peer.serve(out, new FlinkPeer()::answer);
    }

    private Object answer(Request r) throws Exception {
        return switch (r.op()) {
            case "run" -> run(r);
            case "start" -> {
                jobs.put(r.text("name"), environment(r, "streaming").executeSql(r.text("sql")));
                yield Map.of();
            }
            case "follow" -> {
                queries.put(r.text("name"), new FollowedQuery(environment(r, "streaming").executeSql(r.text("sql"))));
                yield Map.of();
            }
            case "collected" -> queries.get(r.text("name")).rows();
            case "status" -> status(r.text("name"));
            case "stop" -> stop(r.text("name"));
            case "ping" -> Map.of("peer", "flink");
            default -> throw new IllegalArgumentException("no command \"" + r.op() + "\"");
        };
    }

    private List<String> run(Request r) throws Exception {
        List<String> lines = new ArrayList<>();
        for (String sql : r.texts("sql")) {
            lines.clear();
            TableResult result = environment(r, r.text("mode", "batch")).executeSql(sql);
            RowLines text = new RowLines(result.getResolvedSchema());
            try (CloseableIterator<Row> rows = result.collect()) { // of an INSERT it is one row, there when the job has ended
                rows.forEachRemaining(row -> lines.add(text.of(row)));
            }
        }
        lines.sort(Text.BY_CODE_POINT);
        return lines;
    }

    private Map<String, Object> status(String name) throws Exception {
        JobClient job = jobs.get(name).getJobClient().orElseThrow();
        JobStatus status = job.getJobStatus().get();
        if (status == JobStatus.FAILED) {
            job.getJobExecutionResult().get(); // throws why
        }
        return Map.of("status", status.toString());
    }

    private Map<String, Object> stop(String name) throws Exception {
        FollowedQuery query = queries.remove(name);
        if (query != null) {
            query.close();
        }
        TableResult job = jobs.remove(name);
        if (job != null) {
            job.getJobClient().orElseThrow().cancel().get();
        }
        return Map.of();
    }

    private TableEnvironment environment(Request r, String mode) {
        String warehouse = r.text("warehouse");
        return environments.computeIfAbsent(mode + " " + warehouse, key -> environment(warehouse, mode.equals("streaming")));
    }

    private TableEnvironment environment(String warehouse, boolean streaming) {
        Configuration configuration = new Configuration();
        configuration.setString("execution.target", "remote");
        configuration.setString("rest.address", cluster.getRestAddress().join().getHost());
        configuration.setString("rest.port", Integer.toString(cluster.getRestAddress().join().getPort()));
        configuration.setString("execution.attached", "false");
        configuration.setString("parallelism.default", "1");
        configuration.setString("table.local-time-zone", "UTC");
        if (streaming) {
            configuration.setString("execution.checkpointing.interval", "300 ms");
            // In memory, where they would be else, a task's state may have 5 MB.
            configuration.setString("state.checkpoint-storage", "filesystem");
            configuration.setString("state.checkpoints.dir", "file://" + warehouse + "-checkpoints");
            configuration.setString("restart-strategy.type", "disable");
            configuration.setString("table.exec.sink.upsert-materialize", "NONE"); // Paimon's sink wants none
        }
        EnvironmentSettings.Builder settings = EnvironmentSettings.newInstance().withConfiguration(configuration);
        TableEnvironment environment = TableEnvironment.create((streaming ? settings.inStreamingMode() : settings.inBatchMode()).build());
        environment.executeSql("CREATE CATALOG w WITH ('type' = 'paimon', 'warehouse' = '" + warehouse + "', 'cache-enabled' = 'false')");
        environment.useCatalog("w");
        return environment;
    }
}
