//! Reads the address of a PostgreSQL database.
//!
//! sqlx logs a parameter that it does not know with its value, which may be a mistyped password, and ignores it. So an
//! address is checked here before sqlx reads it, and no error repeats what may be a secret.

use guichet::flow::nearest;
use guichet::values::printable;
use url::Url;

/// The parameters that sqlx knows. It logs any other one with its value, and ignores it.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// Parses an address, for sqlx.
///
/// # Errors
/// A message that contains no part of the address but the name of an unknown parameter.
pub(crate) fn parse(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).ok().filter(is_whole).ok_or_else(|| {
        "The address of the PostgreSQL database cannot be read. Give postgres://USER:PASSWORD@HOST:PORT/DATABASE, and write the characters / ? # & @ : of a password as %2F %3F %23 %26 %40 %3A.".to_owned()
    })?;
    match url.query_pairs().map(|(name, _)| name).find(|name| !is_known(name)) {
        Some(name) => Err(unknown_parameter(&name)),
        None => Ok(url),
    }
}

/// Whether it is an address of PostgreSQL, and no unescaped character of a password ends a part of it early.
fn is_whole(url: &Url) -> bool {
    let is_postgres = matches!(url.scheme(), "postgres" | "postgresql") && url.has_authority();
    let query = url.query().unwrap_or_default();
    let has_names = query.split('&').all(|parameter| parameter.is_empty() || parameter.contains('='));
    is_postgres && has_names && !url.path().contains('@') && !query.contains('@') && url.fragment().is_none()
}

fn is_known(parameter: &str) -> bool {
    let option = parameter.strip_prefix("options[").and_then(|option| option.strip_suffix(']'));
    option.is_some() || PARAMETERS.contains(&parameter)
}

fn unknown_parameter(name: &str) -> String {
    let unknown = format!("Unknown parameter `{}` in the address of the PostgreSQL database.", printable(name));
    match nearest(name, PARAMETERS.into_iter()) {
        Some(known) => format!("{unknown} Did you mean `{known}`?"),
        None => format!("{unknown} Remove it. The known ones are {} and options[NAME].", PARAMETERS.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_absolute_url_with_known_parameters() {
        for address in [
            "postgres://host/db",
            "postgresql://u:hun%2Fter2@host:1/db?sslmode=require&sslrootcert=/etc/root.pem",
            "postgres:///db?host=/run&",
            "postgres://%2Frun%2Fpostgresql/db?options[search_path]=shop&options%5Block_timeout%5D=1s",
        ] {
            assert_eq!(parse(address).expect(address).scheme(), address.split(':').next().expect("a scheme"));
        }
        for address in ["host/db", "mysql://host/db", "postgres:db", "postgres://host:port/db", ""] {
            assert!(parse(address).expect_err(address).contains("Give postgres://"), "{address}");
        }
    }

    #[test]
    fn an_unknown_parameter_is_named_without_its_value() {
        for (query, message) in [
            ("passwrod=hunter2", "Did you mean `password`?"),
            ("sslmode=require&ssl_mode=hunter2", "Unknown parameter `ssl_mode`"),
            ("channel_binding=hunter2", "Remove it. The known ones are application_name, "),
            ("options[search_path=hunter2", "Unknown parameter `options[search_path`"),
            ("%0apassword=hunter2", "Unknown parameter `\\npassword`"),
        ] {
            let error = parse(&format!("postgres://host/db?{query}")).expect_err(query);
            assert!(error.contains(message) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn an_unescaped_password_is_not_shown() {
        for address in [
            "postgres://awa:hunt/er2@host/db",
            "postgres://awa:7?hunter2@host/db",
            "postgres://awa:7#hunter2@host/db",
            "postgres://awa:hunter2@host:port/db",
            "postgres://host/db?password=7&hunter2",
        ] {
            let error = parse(address).expect_err(address);
            assert!(!error.contains("hunt") && !error.contains("er2"), "{error}");
        }
    }
}
