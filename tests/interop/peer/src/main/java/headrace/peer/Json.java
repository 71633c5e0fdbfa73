package headrace.peer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as the peer speaks it. Objects become ordered maps, arrays lists; a number keeps its own text, so that 0.1 as FLOAT,
 * -0.0 and a 64-bit integer all come through unharmed. Written without spaces, non-ASCII text as it is.
 */
final class Json {
    /** A number, as it was written. */
    record Num(String text) {
        long asLong() {
            return Long.parseLong(text);
        }
    }

    private final String in;
    private int at;

    private Json(String in) {
        this.in = in;
    }

    static Object parse(String text) {
        Json p = new Json(text);
        Object value = p.value();
        p.blanks();
        if (p.at != text.length()) {
            throw p.wrong("more text after the value");
        }
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> parseObject(String text) {
        Object value = parse(text);
        if (!(value instanceof Map)) {
            throw new IllegalArgumentException("not a JSON object: " + shorten(text));
        }
        return (Map<String, Object>) value;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null) {
            out.append("null");
        } else if (value instanceof Map<?, ?> map) {
            out.append('{');
            String comma = "";
            for (Map.Entry<?, ?> e : map.entrySet()) {
                out.append(comma);
                text((String) e.getKey(), out);
                out.append(':');
                write(e.getValue(), out);
                comma = ",";
            }
            out.append('}');
        } else if (value instanceof List<?> list) {
            out.append('[');
            String comma = "";
            for (Object e : list) {
                out.append(comma);
                write(e, out);
                comma = ",";
            }
            out.append(']');
        } else if (value instanceof Num num) {
            out.append(num.text());
        } else if (value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            text(value.toString(), out);
        }
    }

    private static void text(String s, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                default -> {
                    if (c < 0x20) {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }

    private Object value() {
        blanks();
        if (at == in.length()) {
            throw wrong("a value is missing");
        }
        char c = in.charAt(at);
        return switch (c) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        at++;
        if (take('}')) {
            return map;
        }
        do {
            blanks();
            String key = string();
            need(':');
            map.put(key, value());
        } while (take(','));
        need('}');
        return map;
    }

    private List<Object> array() {
        List<Object> list = new ArrayList<>();
        at++;
        if (take(']')) {
            return list;
        }
        do {
            list.add(value());
        } while (take(','));
        need(']');
        return list;
    }

    private String string() {
        if (at >= in.length() || in.charAt(at) != '"') {
            throw wrong("a string is missing");
        }
        StringBuilder out = new StringBuilder();
        for (at++; at < in.length(); at++) {
            char c = in.charAt(at);
            if (c == '"') {
                at++;
                return out.toString();
            }
            if (c != '\\') {
                out.append(c);
                continue;
            }
            at++;
            char e = in.charAt(at);
            switch (e) {
                case 'n' -> out.append('\n');
                case 'r' -> out.append('\r');
                case 't' -> out.append('\t');
                case 'b' -> out.append('\b');
                case 'f' -> out.append('\f');
                case 'u' -> {
                    out.append((char) Integer.parseInt(in.substring(at + 1, at + 5), 16));
                    at += 4;
                }
                default -> out.append(e);
            }
        }
        throw wrong("a string does not end");
    }

    private Num number() {
        int from = at;
        while (at < in.length() && "+-.0123456789eE".indexOf(in.charAt(at)) >= 0) {
            at++;
        }
        if (from == at) {
            throw wrong("not a JSON value");
        }
        return new Num(in.substring(from, at));
    }

    private Object word(String word, Object value) {
        if (!in.startsWith(word, at)) {
            throw wrong("not a JSON value");
        }
        at += word.length();
        return value;
    }

    private void blanks() {
        while (at < in.length() && Character.isWhitespace(in.charAt(at))) {
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
        return new IllegalArgumentException("JSON, character " + at + ": " + what + ": " + shorten(in));
    }

    private static String shorten(String s) {
        return s.length() <= 200 ? s : s.substring(0, 200) + "…";
    }
}
