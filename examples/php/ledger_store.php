<?php
declare(strict_types=1);
// Where the ledger keeps its orders: SQLite, MySQL or MariaDB, by PDO. It decides nothing: it compares what it is given with
// what it has, every time is an argument, and no status, age or limit stands in it. The tables of guichet's other libraries
// have the same columns.
namespace Guichet\Ledger;

use PDO;
use PDOException;
use PDOStatement;

const FORMAT = 1; // of the tables
// Each table, without its prefix. `{key}` is a short text that is compared byte by byte, `{text}` one of any length.
const TABLES = [
    'ledger' => 'id BIGINT PRIMARY KEY, format BIGINT NOT NULL, shared {text} NOT NULL',
    'orders' => 'name {key} PRIMARY KEY, version BIGINT NOT NULL, body {text} NOT NULL',
    'payments' => 'reference {key} PRIMARY KEY, name {key} NOT NULL, owner {key} NOT NULL, created_at BIGINT NOT NULL,
        returned_at BIGINT, due_at BIGINT, counts_until BIGINT',
    'names' => 'payment {key}, name {key}, PRIMARY KEY (payment, name)',
    'events' => 'name {key}, version BIGINT, body {text} NOT NULL, PRIMARY KEY (name, version)',
];
const INDEXES = ['due' => 'due_at', 'owner' => 'owner, counts_until']; // of the payments
const COUNT = 'SELECT count(*) FROM {p}payments WHERE owner = ? AND counts_until > ?';

// The settings of a connection. A lost one, and a deadlock, are errors: the caller gives the same event once more.
function connect(string $address, ?string $user = null, #[\SensitiveParameter] ?string $password = null): PDO {
    $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC];
    if (!str_starts_with($address, 'mysql:')) {
        return new PDO("sqlite:$address", options: $options + [PDO::ATTR_TIMEOUT => 5]); // it waits so long for a lock
    }
    // An update of what is equal counts; no text is cut to fit; what another transaction has committed is seen.
    $session = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), SESSION innodb_lock_wait_timeout = 5";
    $options += [PDO::ATTR_EMULATE_PREPARES => false, PDO::MYSQL_ATTR_FOUND_ROWS => true, PDO::ATTR_TIMEOUT => 5];
    $database = new PDO("$address;charset=utf8mb4", $user, $password, $options);
    $database->exec($session);
    $database->exec('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
    return $database;
}
function is_mysql(PDO $database): bool {
    return $database->getAttribute(PDO::ATTR_DRIVER_NAME) === 'mysql';
}
// Executes one statement. A number is bound as one: SQLite orders 9 after '10'.
function execute(PDO $database, string $sql, array $values): PDOStatement {
    $statement = $database->prepare($sql);
    foreach (array_values($values) as $place => $value) {
        $type = $value === null ? PDO::PARAM_NULL : (is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        $statement->bindValue($place + 1, $value, $type);
    }
    $statement->execute();
    return $statement;
}

final class Store {
    private bool $is_mysql;

    // A connection that `connect` has opened, which no transaction of the shop uses meanwhile.
    public function __construct(private PDO $database, private string $prefix = 'guichet_') {
        // The prefix becomes a part of the statements.
        if (!preg_match('/^(?!\d)[a-z\d_]{0,30}$/D', $prefix)) {
            throw new \InvalidArgumentException('A prefix is of the letters a to z, digits and _, 30 at most.');
        }
        $this->is_mysql = is_mysql($database);
    }

    // Creates what is missing. `$first` gives what all servers share in a ledger that begins at this time.
    public function open(callable $first): void {
        $named = "SELECT name FROM sqlite_master WHERE type = 'table'";
        $of_mysql = 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()';
        $there = $this->query($this->is_mysql ? $of_mysql : $named)->fetchAll(PDO::FETCH_COLUMN);
        $is_missing = fn($table) => !in_array($this->prefix . $table, $there, true);
        $missing = array_filter(array_keys(TABLES), $is_missing);
        $is_missing('ledger') || $this->refuse_newer();
        try {
            array_map($this->create(...), $missing);
        } catch (PDOException $e) {
            $named = implode(', ', array_map(fn($table) => $this->prefix . $table, $missing));
            $why = "could not be created ({$e->getMessage()}). Create them as a user who may.";
            throw new \RuntimeException("The ledger's tables $named are missing and $why", 0, $e);
        }
        if ($this->query('SELECT 1 FROM {p}ledger WHERE id = 1')->fetch() === false) {
            $this->insert('{p}ledger (id, format, shared)', [1, FORMAT, $first($this->now())]);
            $this->refuse_newer();
        }
    }
    private function refuse_newer(): void {
        $format = (int) ($this->query('SELECT format FROM {p}ledger WHERE id = 1')->fetchColumn() ?: FORMAT);
        if ($format > FORMAT) {
            $why = "has the format $format, which this ledger_store.php does not know. Use a newer one.";
            throw new \RuntimeException("The table {$this->prefix}ledger $why");
        }
    }
    private function create(string $table): void {
        $indexes = $table === 'payments' ? INDEXES : [];
        $columns = TABLES[$table];
        foreach ($this->is_mysql ? $indexes : [] as $index => $of) {
            $columns .= ", INDEX {p}payments_$index ($of)";
        }
        // Not a collation: even the exact ones take `a ` for `a`.
        $types = $this->is_mysql ? ['{key}' => 'VARBINARY(255)', '{text}' => 'LONGBLOB'] : ['{key}' => 'TEXT', '{text}' => 'TEXT'];
        $engine = $this->is_mysql ? ' ENGINE = InnoDB' : '';
        $this->query(strtr("CREATE TABLE IF NOT EXISTS {p}$table ($columns)$engine", $types));
        foreach ($this->is_mysql ? [] : $indexes as $index => $of) {
            $column = preg_replace('/.* /', '', $of);
            $this->query("CREATE INDEX IF NOT EXISTS {p}payments_$index ON {p}payments ($of) WHERE $column IS NOT NULL");
        }
    }

    // The database's clock, so that those of two servers do not matter. SQLite has this machine's.
    public function now(): int {
        return $this->is_mysql ? (int) $this->query('SELECT UNIX_TIMESTAMP()')->fetchColumn() : time();
    }
    // An order as it is stored, how many of its owner's payments count, and which of its references other orders have.
    public function load(string $name, string $owner, int $now): array {
        $order = $this->query('SELECT body FROM {p}orders WHERE name = ?', $name)->fetchColumn();
        $open = (int) $this->query(COUNT, $owner, $now)->fetchColumn();
        // `.` comes after `-`: between them is everything that begins with the name and `-`.
        $sql = 'SELECT reference FROM {p}payments WHERE (reference = ? OR (reference > ? AND reference < ?)) AND name <> ?
            ORDER BY reference';
        $taken = $this->query($sql, $name, "$name-", "$name.", $name)->fetchAll(PDO::FETCH_COLUMN);
        return ['order' => $order === false ? null : $order, 'open' => $open, 'taken' => $taken];
    }
    // Stores what was decided, all or nothing. False if another server has changed meanwhile what it was decided by.
    public function commit(array $commit): bool {
        $owner = $commit['open'] === null ? null : $commit['owner'];
        return $this->transact($owner, fn() => $this->write($commit));
    }
    private function write(array $commit): bool {
        ['name' => $name, 'owner' => $owner, 'before' => $before] = $commit;
        if ($commit['open'] !== null) {
            $open = (int) $this->query(COUNT, $owner, $commit['now'])->fetchColumn();
            if ($open !== $commit['open']) { return false; }
        }
        $update = 'UPDATE {p}orders SET version = ?, body = ? WHERE name = ? AND version = ?';
        $is_stored = $before === null
            ? $this->insert('{p}orders (name, version, body)', [$name, $commit['version'], $commit['body']])
            : $this->query($update, $commit['version'], $commit['body'], $name, $before)->rowCount() === 1;
        if (!$is_stored) { return false; }
        foreach ($commit['rows'] as $row) {
            ['reference' => $reference, 'due_at' => $due_at, 'counts_until' => $until] = $row;
            $update = 'UPDATE {p}payments SET owner = ?, due_at = ?, counts_until = ? WHERE reference = ? AND name = ?';
            if ($this->query($update, $owner, $due_at, $until, $reference, $name)->rowCount() === 0) {
                $columns = '{p}payments (reference, name, owner, created_at, due_at, counts_until)';
                $values = [$reference, $name, $owner, $row['created_at'], $due_at, $until];
                if (!$this->insert($columns, $values)) { return false; } // it is another order's
            }
            foreach ($row['names'] as $payment) {
                $sql = 'SELECT 1 FROM {p}names WHERE payment = ? AND name = ?';
                $this->query($sql, $payment, $name)->fetch() || $this->insert('{p}names (payment, name)', [$payment, $name]);
            }
        }
        ['version' => $version, 'body' => $body] = $commit['event'] ?? ['version' => 0, 'body' => null];
        $sql = 'INSERT INTO {p}events (name, version, body) VALUES (?, ?, ?)';
        $body === null || $this->query($sql, $name, $version, $body);
        return true;
    }
    // The names of the orders that have a payment of this reference, id or public reference.
    public function find(string $payment): array {
        $sql = 'SELECT name FROM {p}names WHERE payment = ? ORDER BY name';
        return $this->query($sql, $payment)->fetchAll(PDO::FETCH_COLUMN);
    }
    public function returned(string $reference, int $now): void {
        $this->query('UPDATE {p}payments SET returned_at = ? WHERE reference = ?', $now, $reference);
    }
    // What is to be read by now, or only after `$beyond`: then a clock was ahead when it was stored.
    public function due(int $now, int $beyond): array {
        $sql = 'SELECT reference, owner, created_at, returned_at, due_at AS since FROM {p}payments
            WHERE due_at <= ? OR due_at > ?';
        return $this->query($sql, $now, $beyond)->fetchAll();
    }
    public function postpone(string $reference, int $due_at): void {
        $this->query('UPDATE {p}payments SET due_at = ? WHERE reference = ?', $due_at, $reference);
    }
    // What all servers share, as a text.
    public function shared(): string {
        return $this->query('SELECT shared FROM {p}ledger WHERE id = 1')->fetchColumn();
    }
    public function replace_shared(string $before, string $after): bool {
        $sql = 'UPDATE {p}ledger SET shared = ? WHERE id = 1 AND shared = ?';
        return $this->query($sql, $after, $before)->rowCount() === 1;
    }
    // What the shop has not received, the oldest first.
    public function events(): array {
        return $this->query('SELECT name, version, body FROM {p}events ORDER BY version, name')->fetchAll();
    }
    public function close(string $name, int $version): void {
        $this->query('DELETE FROM {p}events WHERE name = ? AND version = ?', $name, $version);
    }

    private function query(string $sql, mixed ...$values): PDOStatement {
        return execute($this->database, str_replace('{p}', $this->prefix, $sql), $values);
    }
    // False if its key is taken.
    private function insert(string $columns, array $values): bool {
        try {
            $this->query("INSERT INTO $columns VALUES (" . implode(', ', array_fill(0, count($values), '?')) . ')', ...$values);
            return true;
        } catch (PDOException $e) {
            $is_taken = $this->is_mysql ? ($e->errorInfo[1] ?? 0) === 1062 : $e->getCode() === '23000';
            return $is_taken ? false : throw $e;
        }
    }
    // One transaction of SQLite comes after the other. In MySQL the owner's come one after the other, by a lock that ends with
    // its connection: it is taken before anything is read, and freed after the commit.
    private function transact(?string $owner, callable $steps): bool {
        if ($this->database->inTransaction()) { // which MySQL would commit
            throw new \LogicException('The ledger stores nothing within a transaction of the shop.');
        }
        $lock = "SHA2(CONCAT(DATABASE(), ' ', ?), 256)";
        $locked = $this->is_mysql && $owner !== null ? "$this->prefix $owner" : null;
        if ($locked !== null && $this->query("SELECT GET_LOCK($lock, 5)", $locked)->fetchColumn() !== 1) {
            throw new \RuntimeException('Another transaction of this owner has not ended for five seconds.');
        }
        try {
            $this->database->exec($this->is_mysql ? 'START TRANSACTION' : 'BEGIN IMMEDIATE');
            $is_stored = $steps();
            $this->database->exec($is_stored ? 'COMMIT' : 'ROLLBACK');
            return $is_stored;
        } catch (\Throwable $e) {
            try {
                $this->database->exec('ROLLBACK');
            } catch (PDOException) {
                // A lost connection, and some errors of SQLite, have rolled back.
            }
            throw $e;
        } finally {
            $locked === null || $this->unlock($lock, $locked);
        }
    }
    private function unlock(string $lock, string $locked): void {
        try {
            $this->query("SELECT RELEASE_LOCK($lock)", $locked)->fetch();
        } catch (PDOException) {
            // A lost connection has no lock.
        }
    }
}
