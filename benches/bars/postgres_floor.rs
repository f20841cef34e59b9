//! The reference for durable creations on PostgreSQL: a handler that only stores the same rows as the sandbox, in the same commit groups,
//! on the same server. It reads no fields, validates nothing and generates nothing.

use crate::floor::Floor;
use crate::load::Connection;
use crate::rows::{Dump, TEMPLATE_NUMBER, Table, Template, create};
use crate::servers::Running;
use serde_json::Value;
use sqlx::postgres::PgBindIterExt;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The argument that makes this program the floor server.
pub const ARGUMENT: &str = "floor-postgres";
/// The tables with the rows of a payment.
const TABLES: [&str; 2] = ["customers", "intents"];

/// Creates two payments in a new sandbox on this database, and compares their rows.
pub async fn learn(url: &str) -> Template {
    let sandbox = Running::sandbox_on_postgres(url);
    let mut connection = Connection::open(&sandbox.base_url).await;
    let mut database = PgConnection::connect(url).await.unwrap();
    let empty = dump(&mut database).await;
    let (_, reply) = connection.send(create(&sandbox.base_url, &sandbox.secret_key, TEMPLATE_NUMBER)).await;
    let one = dump(&mut database).await;
    connection.send(create(&sandbox.base_url, &sandbox.secret_key, TEMPLATE_NUMBER + 1)).await;
    let two = dump(&mut database).await;
    drop(connection);
    sandbox.stop();
    let reply = String::from_utf8(reply).unwrap();
    Template { schema: Vec::new(), tables: Table::compare(&empty, &one, &two), reply }
}

async fn dump(database: &mut PgConnection) -> Dump {
    let mut tables = Dump::new();
    for table in TABLES {
        let columns = "SELECT column_name::text FROM information_schema.columns \
                       WHERE table_name = $1 AND column_name <> 'seq' ORDER BY ordinal_position";
        let columns: Vec<String> = sqlx::query_scalar(columns).bind(table).fetch_all(&mut *database).await.unwrap();
        let rows = format!("SELECT json_build_array({})::text FROM {table}", columns.join(", "));
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut *database).await.unwrap();
        let rows = rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        tables.insert(table.to_owned(), (columns, rows));
    }
    tables
}

/// Starts the floor server as a process. The database has the sandbox's tables.
pub fn start(folder: &Path, url: &str, template: &Template) -> Running {
    fs::write(folder.join("template.json"), serde_json::to_vec(template).unwrap()).unwrap();
    fs::write(folder.join("database"), url).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(ARGUMENT).arg(folder);
    Running::of(command)
}

/// The floor server's main function.
pub fn serve(folder: &str) {
    let folder = Path::new(folder);
    let template: Template = serde_json::from_slice(&fs::read(folder.join("template.json")).unwrap()).unwrap();
    let url = fs::read_to_string(folder.join("database")).unwrap();
    Floor::serve(template.reply.clone(), |mut gathered| async move {
        let inserts: Vec<String> = template.tables.iter().map(insert).collect();
        let mut database = PgConnection::connect(&url).await.unwrap();
        while let Some((numbers, waiting)) = gathered.next().await {
            sqlx::raw_sql("BEGIN").execute(&mut database).await.unwrap();
            for (table, insert) in template.tables.iter().zip(&inserts) {
                write(&mut database, table, insert, &numbers).await;
            }
            sqlx::raw_sql("COMMIT").execute(&mut database).await.unwrap();
            for done in waiting {
                let _ = done.send(());
            }
        }
    });
}

/// The insert of any number of rows.
fn insert(table: &Table) -> String {
    let types = table.row.iter().enumerate().map(|(place, cell)| match cell {
        Value::Number(_) => format!("${}::bigint[]", place + 1),
        _ => format!("${}::text[]", place + 1),
    });
    let (columns, types) = (table.columns.join(", "), types.collect::<Vec<_>>().join(", "));
    format!("INSERT INTO {} ({columns}) SELECT * FROM unnest({types}) ON CONFLICT DO NOTHING", table.name)
}

async fn write(database: &mut PgConnection, table: &Table, insert: &str, numbers: &[u64]) {
    let rows: Vec<Vec<Value>> = numbers.iter().map(|number| table.of(*number)).collect();
    let mut statement = sqlx::query(AssertSqlSafe(insert));
    for (place, cell) in table.row.iter().enumerate() {
        let cells = rows.iter().map(|row| &row[place]);
        statement = match cell {
            Value::Number(_) => statement.bind(cells.map(|cell| cell.as_i64().unwrap()).bind_iter()),
            _ => statement.bind(cells.map(Value::as_str).bind_iter()),
        };
    }
    let written = statement.execute(database).await.unwrap().rows_affected();
    assert_eq!(written, numbers.len() as u64, "every row of {} is new", table.name);
}
