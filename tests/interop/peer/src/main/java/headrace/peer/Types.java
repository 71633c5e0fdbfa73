package headrace.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowType;

/**
 * Reads types written as SQL text: {@code MAP<STRING, ROW<a INT, b DECIMAL(9, 2)>> NOT NULL}. What has no angle brackets
 * is left to Paimon's own parser. Field ids inside rows count up from 0; creating a table numbers them anew.
 */
final class Types {
    private final String in;
    private int at;
    private int nextId;

    private Types(String in) {
        this.in = in;
    }

    static DataType parse(String text) {
        Types p = new Types(text);
        DataType type = p.type();
        p.blanks();
        if (p.at != text.length()) {
            throw p.wrong("more text after the type");
        }
        return type;
    }

    /** The fields of a request: a list of {"name", "type"}, or an object of names to types. */
    static RowType rowType(Object fields) {
        RowType.Builder row = RowType.builder();
        if (fields instanceof Map<?, ?> map) {
            map.forEach((name, type) -> row.field((String) name, parse((String) type)));
            return row.build();
        }
        for (Object f : (List<?>) fields) {
            Map<?, ?> field = (Map<?, ?>) f;
            row.field((String) field.get("name"), parse((String) field.get("type")));
        }
        return row.build();
    }

    private DataType type() {
        blanks();
        DataType type;
        if (word("ARRAY")) {
            need('<');
            type = DataTypes.ARRAY(type());
            need('>');
        } else if (word("MULTISET")) {
            need('<');
            type = DataTypes.MULTISET(type());
            need('>');
        } else if (word("MAP")) {
            need('<');
            DataType key = type();
            need(',');
            type = DataTypes.MAP(key, type());
            need('>');
        } else if (word("ROW")) {
            type = row();
        } else {
            return atom();
        }
        return ending("NOT NULL") ? type.notNull() : type;
    }

    private DataType row() {
        List<DataField> fields = new ArrayList<>();
        need('<');
        do {
            blanks();
            int from = at;
            while (at < in.length() && (Character.isLetterOrDigit(in.charAt(at)) || in.charAt(at) == '_')) {
                at++;
            }
            String name = in.substring(from, at);
            int id = nextId++;
            fields.add(new DataField(id, name, type()));
        } while (take(','));
        need('>');
        return new RowType(fields);
    }

    /** Everything up to a comma or bracket that does not belong to DECIMAL(9, 2). */
    private DataType atom() {
        int from = at;
        int depth = 0;
        for (; at < in.length(); at++) {
            char c = in.charAt(at);
            if (c == '(') {
                depth++;
            } else if (c == ')') {
                depth--;
            } else if (depth == 0 && (c == ',' || c == '>')) {
                break;
            }
        }
        return DataTypeJsonParser.parseAtomicTypeSQLString(in.substring(from, at).trim());
    }

    /** A keyword that opens angle brackets. */
    private boolean word(String w) {
        if (!in.regionMatches(true, at, w, 0, w.length())) {
            return false;
        }
        int end = at + w.length();
        while (end < in.length() && in.charAt(end) == ' ') {
            end++;
        }
        if (end >= in.length() || in.charAt(end) != '<') {
            return false;
        }
        at = end;
        return true;
    }

    private boolean ending(String words) {
        blanks();
        if (!in.regionMatches(true, at, words, 0, words.length())) {
            return false;
        }
        at += words.length();
        return true;
    }

    private void blanks() {
        while (at < in.length() && in.charAt(at) == ' ') {
            at++;
        }
    }

    private boolean take(char c) {
        blanks();
        if (at < in.length() && in.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void need(char c) {
        if (!take(c)) {
            throw wrong("'" + c + "' is missing");
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("type " + in + ", character " + at + ": " + what);
    }
}
