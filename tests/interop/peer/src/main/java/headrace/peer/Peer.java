package headrace.peer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Java Paimon as a program. One command a process:
 *
 * <pre>peer scan --path DIR --snapshot 3        an argument without a value is "true"; --json '{…}' gives all at once</pre>
 *
 * prints the answer's lines; or {@code peer serve}: a JSON request a line on standard input, a JSON answer a line on standard
 * output, {"ok":true,"lines":[…]} or {"ok":true,"value":{…}} or {"ok":false,"error":…}, so that one JVM serves hundreds.
 */
public final class Peer {
    private Peer() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        if (args.length == 1 && args[0].equals("serve")) {
            serve(out, Peer::answer);
            return;
        }
        if (args.length == 0) {
            System.err.println("usage: peer serve | create|alter|write|compact|scan|changes|info|entries|binary [--NAME [VALUE]]…");
            System.exit(2);
        }
        Object answer = answer(new Request(fromCommandLine(args)));
        if (answer instanceof List<?> lines) {
            lines.forEach(l -> out.print(l + "\n"));
        } else {
            out.print(Json.write(answer) + "\n");
        }
        out.flush();
        System.exit(0);
    }

    interface Answering {
        Object answer(Request r) throws Exception;
    }

    static void serve(PrintStream out, Answering peer) throws Exception {
        // Whatever a library prints must not come between the answers.
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                Object result = peer.answer(new Request(Json.parseObject(line)));
                answer.put("ok", true);
                answer.put(result instanceof List ? "lines" : "value", result);
            } catch (Throwable e) {
                StringWriter trace = new StringWriter();
                e.printStackTrace(new PrintWriter(trace));
                answer.put("ok", false);
                answer.put("error", e.toString());
                answer.put("trace", trace.toString());
            }
            out.print(Json.write(answer) + "\n");
            out.flush();
        }
        System.exit(0);
    }

    private static Object answer(Request r) throws Exception {
        return switch (r.op()) {
            case "create" -> Tables.create(r);
            case "alter" -> Tables.alter(r);
            case "write" -> Writing.write(r);
            case "compact" -> Writing.compact(r);
            case "scan" -> Reading.scan(r);
            case "changes" -> Reading.changes(r);
            case "info" -> Describing.info(r);
            case "entries" -> Describing.entries(r);
            case "binary" -> Binary.dump(r);
            case "ping" -> Map.of("peer", "java");
            default -> throw new IllegalArgumentException("no command \"" + r.op() + "\"");
        };
    }

    private static Map<String, Object> fromCommandLine(String[] args) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("op", args[0]);
        for (int i = 1; i < args.length; i++) {
            if (!args[i].startsWith("--")) {
                throw new IllegalArgumentException("arguments are --NAME [VALUE], not " + args[i]);
            }
            String name = args[i].substring(2);
            boolean hasValue = i + 1 < args.length && !args[i + 1].startsWith("--");
            String value = hasValue ? args[++i] : "true";
            if (name.equals("json")) {
                out.putAll(Json.parseObject(value));
            } else {
                out.put(name, value.startsWith("[") || value.startsWith("{") ? Json.parse(value) : value);
            }
        }
        return out;
    }
}
