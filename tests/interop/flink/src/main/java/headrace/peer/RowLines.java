package headrace.peer;

import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.data.conversion.RowRowConverter;
import org.apache.flink.types.Row;
import org.apache.paimon.flink.FlinkRowWrapper;
import org.apache.paimon.flink.LogicalTypeConversion;
import org.apache.paimon.types.RowType;

/** Rows of a Flink query as the lines that the other peer prints for rows of the same types. */
final class RowLines {
    private final RowRowConverter converter;
    private final RowType type;

    RowLines(ResolvedSchema schema) {
        this.converter = RowRowConverter.create(schema.toPhysicalRowDataType());
        converter.open(RowLines.class.getClassLoader());
        this.type = (RowType) LogicalTypeConversion.toDataType(schema.toPhysicalRowDataType().getLogicalType());
    }

    String of(Row row) {
        return Json.write(Values.rowToJson(type, new FlinkRowWrapper(converter.toInternal(row))));
    }
}
