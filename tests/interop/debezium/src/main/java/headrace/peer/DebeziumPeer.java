package headrace.peer;

import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.Header;
import io.debezium.engine.format.Json;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Debezium's embedded engine, each of its events produced into its topic of Kafka as Kafka Connect would: key, value and headers as JSON.
 * The same lines in and out as the other peers' {@code serve}.
 *
 * <pre>
 * start    {"address", "topics": {topic: partitions}, "properties": {the connector's}}   makes the topics first
 * counts   {}    records acknowledged by the broker so far, by topic; an error when the engine has failed
 * stop     {}
 * </pre>
 */
public final class DebeziumPeer {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final Map<String, Long> counts = new TreeMap<>();
    private KafkaProducer<byte[], byte[]> producer;
    private DebeziumEngine<ChangeEvent<String, String>> engine;
    private volatile String failure;

    private DebeziumPeer() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Peer.serve(out, new DebeziumPeer()::answer);
    }

    private Object answer(Request r) throws Exception {
        return switch (r.op()) {
            case "start" -> start(r);
            case "counts" -> counts();
            case "stop" -> stop();
            default -> throw new IllegalArgumentException("no command \"" + r.op() + "\"");
        };
    }

    private Object start(Request r) throws Exception {
        Map<String, Object> broker = Map.of("bootstrap.servers", r.text("address"));
        List<NewTopic> topics = new ArrayList<>();
        r.map("topics").forEach((name, partitions) -> topics.add(new NewTopic(name, Integer.parseInt(partitions), (short) 1)));
        try (Admin admin = Admin.create(broker)) {
            admin.createTopics(topics).all().get();
        }
        producer = new KafkaProducer<>(broker, new ByteArraySerializer(), new ByteArraySerializer());
        Properties properties = new Properties();
        r.map("properties").forEach(properties::setProperty);
        engine = DebeziumEngine.create(KeyValueHeaderChangeEventFormat.of(Json.class, Json.class, Json.class)).using(properties)
                .notifying(this::produce).using((succeeded, message, error) -> failure = succeeded ? null : message + ": " + error).build();
        thread.execute(engine);
        return Map.of();
    }

    private void produce(List<ChangeEvent<String, String>> events, DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer)
            throws InterruptedException {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (ChangeEvent<String, String> event : events) {
            ProducerRecord<byte[], byte[]> message = new ProducerRecord<>(event.destination(), bytes(event.key()), bytes(event.value()));
            for (Header<?> header : event.headers()) {
                message.headers().add(header.getKey(), bytes(String.valueOf(header.getValue())));
            }
            sent.add(producer.send(message));
        }
        for (int i = 0; i < sent.size(); i++) {
            try {
                sent.get(i).get();
            } catch (java.util.concurrent.ExecutionException e) {
                throw new IllegalStateException("a record was not delivered", e);
            }
            synchronized (counts) {
                counts.merge(events.get(i).destination(), 1L, Long::sum);
            }
            committer.markProcessed(events.get(i));
        }
        committer.markBatchFinished();
    }

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    private Object counts() {
        if (failure != null) {
            throw new IllegalStateException("Debezium ended: " + failure);
        }
        synchronized (counts) {
            Map<String, Object> answer = new TreeMap<>();
            counts.forEach((topic, count) -> answer.put(topic, new headrace.peer.Json.Num(count.toString())));
            return answer;
        }
    }

    private Object stop() throws Exception {
        if (engine != null) {
            engine.close();
            thread.shutdown();
            producer.close();
        }
        return Map.of();
    }
}
