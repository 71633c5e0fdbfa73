package headrace.peer;

import java.util.Arrays;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;

/** The order of lines "sorted as text": by code point, which is the order of the UTF-8 bytes. */
final class Text {
    static final Comparator<String> BY_CODE_POINT = (a, b) -> Arrays.compareUnsigned(
            a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));

    private Text() {}
}
