package headrace.peer;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.bucket.BucketFunction;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.SerializationUtils;

/** Bytes, hash and bucket of rows as Java Paimon makes them: vectors for tests of the codec. */
final class Binary {
    private static final HexFormat HEX = HexFormat.of();

    private Binary() {}

    /** "fields" and "rows"; with "buckets" also the bucket, by "function" (default, mod). */
    static List<String> dump(Request r) {
        RowType type = Types.rowType(r.any("fields"));
        InternalRowSerializer serializer = new InternalRowSerializer(type);
        List<String> out = new ArrayList<>();
        for (Object json : (List<?>) r.any("rows")) {
            BinaryRow row = serializer.toBinaryRow(Values.rowFromJson(type, (Map<?, ?>) json)).copy();
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("row", json);
            line.put("bytes", HEX.formatHex(row.toBytes()));
            line.put("serialized", HEX.formatHex(SerializationUtils.serializeBinaryRow(row)));
            line.put("hash", row.hashCode());
            if (r.has("buckets")) {
                CoreOptions.BucketFunctionType function = CoreOptions.BucketFunctionType.valueOf(r.text("function", "default").toUpperCase());
                line.put("bucket", BucketFunction.create(function, type).bucket(row, (int) r.number("buckets")));
            }
            out.add(Json.write(line));
        }
        return out;
    }
}
