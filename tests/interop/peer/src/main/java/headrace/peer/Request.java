package headrace.peer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One command with its arguments: a JSON object whose "op" says what to do. */
record Request(Map<String, Object> args) {
    String op() {
        return text("op");
    }

    boolean has(String key) {
        return args.get(key) != null;
    }

    String text(String key) {
        Object v = args.get(key);
        if (v == null) {
            throw new IllegalArgumentException("argument \"" + key + "\" is missing");
        }
        return v instanceof Json.Num n ? n.text() : v.toString();
    }

    String text(String key, String otherwise) {
        return has(key) ? text(key) : otherwise;
    }

    long number(String key) {
        return Long.parseLong(text(key));
    }

    boolean flag(String key) {
        return has(key) && Boolean.parseBoolean(text(key));
    }

    Object any(String key) {
        text(key);
        return args.get(key);
    }

    List<String> texts(String key) {
        List<String> out = new ArrayList<>();
        if (args.get(key) instanceof List<?> list) {
            list.forEach(e -> out.add((String) e));
        } else if (has(key)) {
            out.addAll(List.of(text(key).split(",")));
        }
        return out;
    }

    Map<String, String> map(String key) {
        Map<String, String> out = new LinkedHashMap<>();
        if (args.get(key) instanceof Map<?, ?> map) {
            map.forEach((k, v) -> out.put((String) k, v instanceof Json.Num n ? n.text() : v.toString()));
        }
        return out;
    }
}
