import io.apicurio.registry.utils.converter.avro.AvroData;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * What a Kafka Connect worker with an Avro converter writes. One request a line, {"subject":…,"json":…}: the JSON is what Connect's
 * JsonConverter writes with schemas; Apicurio's AvroData makes Avro of it, the schema is registered under the subject by Confluent's API, and the
 * answer is the message in base64. With {"schema":…,"datum":…} in place of it Avro's own JSON encoding is the input. Without the argument, the
 * registry's address, the answer is the bare datum.
 */
public final class AvroEncoder {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final Map<String, Integer> IDS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        JsonConverter reader = new JsonConverter();
        reader.configure(Map.of("schemas.enable", "true"), false);
        AvroData avro = new AvroData(1000);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode request = JSON.readTree(line);
            Schema schema;
            Object value;
            if (request.has("datum")) {
                schema = new Schema.Parser().parse(request.get("schema").toString());
                value = new GenericDatumReader<>(schema)
                        .read(null, DecoderFactory.get().jsonDecoder(schema, request.get("datum").toString()));
            } else {
                SchemaAndValue read = reader.toConnectData("t", JSON.writeValueAsBytes(request.get("json")));
                schema = avro.fromConnectSchema(read.schema());
                value = avro.fromConnectData(read.schema(), read.value());
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            if (args.length > 0) {
                bytes.write(0);
                bytes.write(ByteBuffer.allocate(4).putInt(idOf(args[0], request, schema)).array());
            }
            BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
            new GenericDatumWriter<>(schema).write(value, encoder);
            encoder.flush();
            out.println(Base64.getEncoder().encodeToString(bytes.toByteArray()));
        }
    }

    private static int idOf(String registry, JsonNode request, Schema schema) throws Exception {
        String subject = request.get("subject").asText();
        String key = subject + "\n" + schema;
        Integer known = IDS.get(key);
        if (known != null) return known;
        ObjectNode body = JSON.createObjectNode().put("schema", schema.toString());
        HttpRequest post = HttpRequest.newBuilder(URI.create(
                        registry + "/subjects/" + URLEncoder.encode(subject, StandardCharsets.UTF_8) + "/versions"))
                .header("Content-Type", "application/vnd.schemaregistry.v1+json")
                .POST(HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body)))
                .build();
        HttpResponse<String> answer = HTTP.send(post, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) throw new IllegalStateException(answer.statusCode() + ": " + answer.body());
        int id = JSON.readTree(answer.body()).get("id").asInt();
        IDS.put(key, id);
        return id;
    }
}
