package headrace.peer;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;

/**
 * Paimon's values as JSON and back, in the one encoding that all programs of these tests share: binary as hex, decimals and
 * dates as strings, floats in the shortest digits that read back, maps as sorted lists of pairs.
 */
final class Values {
    private static final HexFormat HEX = HexFormat.of();

    private Values() {}

    // ---- Paimon to JSON

    static Map<String, Object> rowToJson(RowType type, InternalRow row) {
        Map<String, Object> out = new LinkedHashMap<>();
        rowInto(out, type, row);
        return out;
    }

    static void rowInto(Map<String, Object> out, RowType type, InternalRow row) {
        List<DataField> fields = type.getFields();
        for (int i = 0; i < fields.size(); i++) {
            DataType t = fields.get(i).type();
            out.put(fields.get(i).name(), toJson(t, InternalRow.createFieldGetter(t, i).getFieldOrNull(row)));
        }
    }

    static Object toJson(DataType type, Object v) {
        if (v == null) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT -> v;
            case FLOAT -> floating(((Float) v).doubleValue(), true);
            case DOUBLE -> floating((Double) v, false);
            case CHAR, VARCHAR -> v.toString();
            case BINARY, VARBINARY -> HEX.formatHex((byte[]) v);
            case DECIMAL -> ((Decimal) v).toBigDecimal().toPlainString();
            case DATE -> date(LocalDate.ofEpochDay((Integer) v));
            case TIME_WITHOUT_TIME_ZONE -> time(LocalTime.ofNanoOfDay((Integer) v * 1_000_000L), 3);
            case TIMESTAMP_WITHOUT_TIME_ZONE -> timestamp((Timestamp) v, DataTypeChecks.getPrecision(type));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE -> timestamp((Timestamp) v, DataTypeChecks.getPrecision(type)) + "Z";
            case VARIANT -> ((Variant) v).toJson();
            case ARRAY -> array(((ArrayType) type).getElementType(), (InternalArray) v);
            case MAP -> map(((MapType) type).getKeyType(), ((MapType) type).getValueType(), (InternalMap) v);
            case MULTISET -> map(((MultisetType) type).getElementType(), new IntType(), (InternalMap) v);
            case ROW -> rowToJson((RowType) type, (InternalRow) v);
        };
    }

    private static List<Object> array(DataType element, InternalArray a) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(element);
        List<Object> out = new ArrayList<>();
        for (int i = 0; i < a.size(); i++) {
            out.add(toJson(element, getter.getElementOrNull(a, i)));
        }
        return out;
    }

    private static List<Object> map(DataType key, DataType value, InternalMap m) {
        List<Object> keys = array(key, m.keyArray());
        List<Object> values = array(value, m.valueArray());
        List<List<Object>> pairs = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            List<Object> pair = new ArrayList<>();
            pair.add(keys.get(i));
            pair.add(values.get(i));
            pairs.add(pair);
        }
        pairs.sort(Comparator.comparing(p -> Json.write(p.get(0)), Text.BY_CODE_POINT));
        return new ArrayList<>(pairs);
    }

    private static String date(LocalDate d) {
        return String.format("%04d-%02d-%02d", d.getYear(), d.getMonthValue(), d.getDayOfMonth());
    }

    private static String time(LocalTime t, int fraction) {
        String s = String.format("%02d:%02d:%02d", t.getHour(), t.getMinute(), t.getSecond());
        return fraction == 0 ? s : s + "." + String.format("%09d", t.getNano()).substring(0, fraction);
    }

    private static String timestamp(Timestamp ts, int precision) {
        LocalDateTime t = ts.toLocalDateTime();
        return date(t.toLocalDate()) + "T" + time(t.toLocalTime(), precision);
    }

    /** The shortest digits that read back to the same number of this width; positional between 1e-4 and 1e16. */
    static Object floating(double v, boolean single) {
        if (Double.isNaN(v)) {
            return "NaN";
        }
        if (Double.isInfinite(v)) {
            return v > 0 ? "Infinity" : "-Infinity";
        }
        if (v == 0) {
            return new Json.Num(1 / v < 0 ? "-0.0" : "0.0");
        }
        BigDecimal d = shortest(v, single).stripTrailingZeros();
        int exponent = d.precision() - d.scale() - 1;
        String text;
        if (exponent >= -4 && exponent < 16) {
            text = d.scale() < 1 ? d.setScale(1).toPlainString() : d.toPlainString();
        } else {
            String digits = d.unscaledValue().abs().toString();
            text = (v < 0 ? "-" : "") + digits.charAt(0) + (digits.length() > 1 ? "." + digits.substring(1) : "")
                    + String.format("e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
        }
        return new Json.Num(text);
    }

    /** Tries one digit, two digits …; below and above, for beside a power of two the nearer neighbour may not read back. */
    private static BigDecimal shortest(double v, boolean single) {
        BigDecimal exact = new BigDecimal(v);
        for (int digits = 1; digits <= 17; digits++) {
            BigDecimal best = null;
            for (RoundingMode mode : new RoundingMode[] {RoundingMode.DOWN, RoundingMode.UP}) {
                BigDecimal d = exact.round(new MathContext(digits, mode));
                boolean same = single ? d.floatValue() == (float) v : d.doubleValue() == v;
                int nearer = !same ? 1 : best == null ? -1 : d.subtract(exact).abs().compareTo(best.subtract(exact).abs());
                if (nearer < 0 || nearer == 0 && !d.unscaledValue().testBit(0)) { // halfway between two: the even digit
                    best = d;
                }
            }
            if (best != null) {
                return best;
            }
        }
        throw new IllegalStateException("no digits for " + v);
    }

    // ---- JSON to Paimon

    /** A row by field names; a field that is not named is null, a name that is no field is an error unless it begins with '_'. */
    static GenericRow rowFromJson(RowType type, Map<?, ?> json) {
        List<DataField> fields = type.getFields();
        GenericRow row = new GenericRow(fields.size());
        for (Object name : json.keySet()) {
            if (!type.containsField((String) name) && !((String) name).startsWith("_")) {
                throw new IllegalArgumentException("no field " + name + " in " + type.getFieldNames());
            }
        }
        for (int i = 0; i < fields.size(); i++) {
            DataField f = fields.get(i);
            try {
                row.setField(i, fromJson(f.type(), json.get(f.name())));
            } catch (RuntimeException e) {
                throw new IllegalArgumentException("field " + f.name() + " " + f.type() + ": " + Json.write(json.get(f.name())), e);
            }
        }
        return row;
    }

    static Object fromJson(DataType type, Object v) {
        if (v == null) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> (Boolean) v;
            case TINYINT -> Byte.parseByte(number(v));
            case SMALLINT -> Short.parseShort(number(v));
            case INTEGER -> Integer.parseInt(number(v));
            case BIGINT -> Long.parseLong(number(v));
            case FLOAT -> Float.parseFloat(number(v));
            case DOUBLE -> Double.parseDouble(number(v));
            case CHAR, VARCHAR -> BinaryString.fromString((String) v);
            case BINARY, VARBINARY -> HEX.parseHex((String) v);
            case DECIMAL -> decimal((DecimalType) type, (String) v);
            case DATE -> (int) LocalDate.parse((String) v).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE -> (int) (LocalTime.parse((String) v).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> {
                String s = (String) v;
                yield Timestamp.fromLocalDateTime(LocalDateTime.parse(s.endsWith("Z") ? s.substring(0, s.length() - 1) : s));
            }
            case VARIANT -> GenericVariant.fromJson((String) v);
            case ARRAY -> new GenericArray(list(((ArrayType) type).getElementType(), (List<?>) v));
            case MAP -> pairs(((MapType) type).getKeyType(), ((MapType) type).getValueType(), (List<?>) v);
            case MULTISET -> pairs(((MultisetType) type).getElementType(), new IntType(), (List<?>) v);
            case ROW -> rowFromJson((RowType) type, (Map<?, ?>) v);
        };
    }

    private static String number(Object v) {
        return v instanceof Json.Num n ? n.text() : (String) v;
    }

    private static Decimal decimal(DecimalType type, String text) {
        Decimal d = Decimal.fromBigDecimal(new BigDecimal(text), type.getPrecision(), type.getScale());
        if (d == null) {
            throw new IllegalArgumentException(text + " does not fit " + type);
        }
        return d;
    }

    private static Object[] list(DataType element, List<?> json) {
        return json.stream().map(e -> fromJson(element, e)).toArray();
    }

    private static GenericMap pairs(DataType key, DataType value, List<?> json) {
        Map<Object, Object> map = new HashMap<>();
        for (Object p : json) {
            List<?> pair = (List<?>) p;
            map.put(fromJson(key, pair.get(0)), fromJson(value, pair.get(1)));
        }
        return new GenericMap(map);
    }
}
