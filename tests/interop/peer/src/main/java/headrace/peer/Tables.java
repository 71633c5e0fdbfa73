package headrace.peer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.types.DataField;

/** Names to tables: {"warehouse": DIR, "table": "db.t"}, or {"path": table directory}. Nothing is cached between requests. */
final class Tables {
    private Tables() {}

    static FileStoreTable open(Request r) {
        Path path = new Path(r.has("path") ? r.text("path") : location(r));
        FileStoreTable table = FileStoreTableFactory.create(LocalFileIO.create(), path);
        Map<String, String> options = r.map("options");
        return options.isEmpty() ? table : table.copy(options);
    }

    private static String location(Request r) {
        String[] name = name(r);
        return r.text("warehouse") + "/" + name[0] + ".db/" + name[1];
    }

    private static String[] name(Request r) {
        String[] name = r.text("table").split("\\.", 2);
        if (name.length != 2) {
            throw new IllegalArgumentException("table " + r.text("table") + ": a name is database.table");
        }
        return name;
    }

    static Map<String, Object> create(Request r) throws Exception {
        String[] name = name(r);
        Schema.Builder schema = Schema.newBuilder();
        for (DataField f : Types.rowType(r.any("fields")).getFields()) {
            schema.column(f.name(), f.type());
        }
        schema.primaryKey(r.texts("primaryKeys"));
        schema.partitionKeys(r.texts("partitionKeys"));
        schema.options(r.map("options"));
        Options options = new Options();
        options.set("warehouse", r.text("warehouse"));
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            catalog.createDatabase(name[0], true);
            catalog.createTable(Identifier.create(name[0], name[1]), schema.build(), false);
        }
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("path", location(r));
        return out;
    }

    /** "changes": [{"add": "n.z", "type": "INT", "first": true}, {"rename": "a", "to": "b"}, …], in one commit. */
    static Map<String, Object> alter(Request r) throws Exception {
        FileStoreTable table = open(r);
        List<SchemaChange> changes = new ArrayList<>();
        for (Object change : (List<?>) r.any("changes")) {
            changes.add(change((Map<?, ?>) change));
        }
        TableSchema schema = table.schemaManager().commitChanges(changes);
        return Map.of("schema", schema.id());
    }

    private static SchemaChange change(Map<?, ?> c) {
        String kind = (String) c.keySet().iterator().next();
        String name = (String) c.get(kind);
        String[] path = name.split("\\.");
        String type = (String) c.get("type");
        return switch (kind) {
            case "add" -> SchemaChange.addColumn(path, Types.parse(type), (String) c.get("comment"), move(path, c));
            case "drop" -> SchemaChange.dropColumn(path);
            case "rename" -> SchemaChange.renameColumn(path, (String) c.get("to"));
            case "retype" -> SchemaChange.updateColumnType(path, Types.parse(type), true);
            case "set" -> SchemaChange.setOption(name, (String) c.get("to"));
            case "unset" -> SchemaChange.removeOption(name);
            default -> throw new IllegalArgumentException("no change \"" + kind + "\"");
        };
    }

    private static SchemaChange.Move move(String[] path, Map<?, ?> c) {
        String name = path[path.length - 1];
        if (c.get("after") != null) {
            return SchemaChange.Move.after(name, (String) c.get("after"));
        }
        return c.get("first") != null ? SchemaChange.Move.first(name) : null;
    }
}
