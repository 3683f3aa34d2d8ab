package sparkivm.testing;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A second catalog of Delta tables, with views.
 *
 * <p>Its schema `s` is the schema `NAME__s` of Spark's own catalog, where Delta keeps the tables; its
 * views it keeps itself, as long as the process lives.
 */
public class LakeCatalog implements RelationCatalog, StagingTableCatalog, SupportsNamespaces {
  private static final Map<String, View> VIEWS = new ConcurrentHashMap<>();
  private String name;
  private String refused;

  /** Options: `refuses`, `reads` or `writes`, what nobody may do. */
  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.refused = options.getOrDefault("refuses", "");
  }

  private void ask(String what, Identifier ident) {
    if (what.equals(refused)) {
      String told = "PERMISSION_DENIED: no %s of %s.%s";
      throw new SecurityException(String.format(told, what, name, ident));
    }
  }

  @Override
  public String name() {
    return name;
  }

  // == Schemas

  @Override
  public String[][] listNamespaces() throws NoSuchNamespaceException {
    String prefix = name + "__";
    return Arrays.stream(((SupportsNamespaces) delta()).listNamespaces())
        .filter(n -> n[0].startsWith(prefix))
        .map(n -> new String[] {n[0].substring(prefix.length())})
        .toArray(String[][]::new);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    return namespace.length == 0 ? listNamespaces() : new String[0][];
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    return ((SupportsNamespaces) delta()).loadNamespaceMetadata(inner(namespace));
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    ((SupportsNamespaces) delta()).createNamespace(inner(namespace), metadata);
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes)
      throws NoSuchNamespaceException {
    ((SupportsNamespaces) delta()).alterNamespace(inner(namespace), changes);
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    return ((SupportsNamespaces) delta()).dropNamespace(inner(namespace), cascade);
  }

  // == Tables

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    return Arrays.stream(delta().listTables(inner(namespace)))
        .map(found -> Identifier.of(namespace, found.name()))
        .toArray(Identifier[]::new);
  }

  @Override
  public Relation loadRelation(Identifier ident) throws NoSuchTableException {
    ask("reads", ident);
    View view = VIEWS.get(key(ident));
    return view != null ? view : (Relation) delta().loadTable(inner(ident));
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    ask("reads", ident);
    return delta().loadTable(inner(ident));
  }

  @Override
  public Table loadTable(Identifier ident, Set<TableWritePrivilege> privileges)
      throws NoSuchTableException {
    ask("writes", ident);
    return delta().loadTable(inner(ident), privileges);
  }

  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    return delta().loadTable(inner(ident), version);
  }

  @Override
  public Table loadTable(Identifier ident, long timestamp) throws NoSuchTableException {
    return delta().loadTable(inner(ident), timestamp);
  }

  @Override
  public void invalidateTable(Identifier ident) {
    delta().invalidateTable(inner(ident));
  }

  @Override
  public Table createTable(
      Identifier ident, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    ask("writes", ident);
    return delta().createTable(inner(ident), columns, partitions, properties);
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    ask("writes", ident);
    return delta().alterTable(inner(ident), changes);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    ask("writes", ident);
    return delta().dropTable(inner(ident));
  }

  @Override
  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    delta().renameTable(inner(from), inner(to));
  }

  @Override
  public StagedTable stageCreate(
      Identifier ident, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    ask("writes", ident);
    return delta().stageCreate(inner(ident), columns, partitions, properties);
  }

  @Override
  public StagedTable stageReplace(
      Identifier ident, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws NoSuchNamespaceException, NoSuchTableException {
    ask("writes", ident);
    return delta().stageReplace(inner(ident), columns, partitions, properties);
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier ident, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws NoSuchNamespaceException {
    ask("writes", ident);
    return delta().stageCreateOrReplace(inner(ident), columns, partitions, properties);
  }

  // == Views

  @Override
  public Identifier[] listViews(String[] namespace) {
    String prefix = name + "." + String.join(".", namespace) + ".";
    return VIEWS.keySet().stream()
        .filter(key -> key.startsWith(prefix))
        .map(key -> Identifier.of(namespace, key.substring(prefix.length())))
        .toArray(Identifier[]::new);
  }

  @Override
  public View createView(Identifier ident, View view) throws ViewAlreadyExistsException {
    ask("writes", ident);
    if (VIEWS.putIfAbsent(key(ident), view) != null) {
      throw new ViewAlreadyExistsException(ident);
    }
    return view;
  }

  @Override
  public View replaceView(Identifier ident, View view) throws NoSuchViewException {
    ask("writes", ident);
    if (VIEWS.replace(key(ident), view) == null) {
      throw new NoSuchViewException(ident);
    }
    return view;
  }

  @Override
  public boolean dropView(Identifier ident) {
    return VIEWS.remove(key(ident)) != null;
  }

  @Override
  public void renameView(Identifier from, Identifier to) throws NoSuchViewException {
    View view = VIEWS.remove(key(from));
    if (view == null) {
      throw new NoSuchViewException(from);
    }
    VIEWS.put(key(to), view);
  }

  private StagingTableCatalog delta() {
    return (StagingTableCatalog)
        SparkSession.active().sessionState().catalogManager().v2SessionCatalog();
  }

  private String[] inner(String[] namespace) {
    return new String[] {name + "__" + namespace[0]};
  }

  private Identifier inner(Identifier ident) {
    return Identifier.of(inner(ident.namespace()), ident.name());
  }

  private String key(Identifier ident) {
    return name + "." + String.join(".", ident.namespace()) + "." + ident.name();
  }
}
