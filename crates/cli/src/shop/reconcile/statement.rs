//! A statement as CSV: which column is which, and what its rows have.

use csv::{ReaderBuilder, StringRecord};
use guichet::native::ledger::{NotJudged, StatementRow, WhyNotJudged};
use guichet::values::Moment;
use std::path::Path;

/// What may separate fields. Of those that give as many headings, the first.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The last second of a day, after its first.
const LAST_OF_DAY: i64 = 24 * 60 * 60 - 1;

/// A column of a statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Column {
    Id,
    Reference,
    Amount,
    Currency,
    Status,
    Date,
}

/// Each column's name in `--column`, and the headings by which it is found, as [`plain`] has them.
const COLUMNS: [(Column, &str, &[&str]); 6] = [
    (Column::Id, "id", &["id", "paymentid", "transactionid"]),
    (Column::Reference, "reference", &["reference", "merchantreference", "externalreference"]),
    (Column::Amount, "amount", &["amount"]),
    (Column::Currency, "currency", &["currency"]),
    (Column::Status, "status", &["status"]),
    (Column::Date, "date", &["date", "createdat"]),
];

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub rows: Vec<StatementRow>,
    /// The rows that have other columns than the heading.
    pub not_judged: Vec<NotJudged>,
    pub dates: Dates,
}

/// The dates of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Dates {
    None,
    /// The first and the last second.
    Span(i64, i64),
    /// A row has none, or one that cannot be read.
    Unreadable {
        line: u64,
        text: String,
    },
}

impl Statement {
    /// Reads a file.
    pub(super) fn open(path: &Path, columns: &[(Column, String)]) -> Result<Self, String> {
        let name = path.display();
        let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
        Self::read(&bytes, columns).map_err(|error| format!("{name}: {error}"))
    }

    fn read(bytes: &[u8], columns: &[(Column, String)]) -> Result<Self, String> {
        let text = decode(bytes)?;
        let (delimiter, headings) = headings(text)?;
        let columns = Columns::find(&headings, columns)?;
        let mut reader =
            ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut statement = Self { rows: Vec::new(), not_judged: Vec::new(), dates: Dates::None };
        let (mut record, mut line, mut counted_to) = (StringRecord::new(), 1, 0);
        loop {
            let start = offset(&reader);
            if !reader.read_record(&mut record).map_err(|error| error.to_string())? {
                return Ok(statement);
            }
            // The end of the line before, and empty lines, are read with the record.
            let raw = &text[start..offset(&reader)];
            let raw = raw.trim_start_matches(['\r', '\n']);
            let begin = offset(&reader) - raw.len();
            line += lines(&text[counted_to..begin]);
            counted_to = begin;
            if lines(raw.trim_end()) > 0 && raw.matches('"').count() % 2 == 1 {
                return Err(format!("Line {line} has a quotation mark that is not closed. Close it, or remove it."));
            }
            if begin == text.len() - text.trim_start_matches(['\r', '\n']).len() {
                continue; // The headings.
            }
            statement.add(line, &record, &headings, &columns);
        }
    }

    fn add(&mut self, line: u64, record: &StringRecord, headings: &StringRecord, columns: &Columns) {
        if record.len() != headings.len() {
            return self.not_judged.push(NotJudged { line, why: WhyNotJudged::Columns });
        }
        let text = |column| columns.get(column).and_then(|index| record.get(index)).map(str::to_owned);
        if let Some(date) = text(Column::Date) {
            self.dates = std::mem::replace(&mut self.dates, Dates::None).with(line, &date);
        }
        self.rows.push(StatementRow {
            line,
            id: text(Column::Id).unwrap_or_default(),
            reference: text(Column::Reference).unwrap_or_default(),
            amount: text(Column::Amount).unwrap_or_default(),
            currency: text(Column::Currency).unwrap_or_default(),
            status: text(Column::Status),
        });
    }
}

impl Dates {
    fn with(self, line: u64, text: &str) -> Self {
        match (self, seconds(text.trim())) {
            (unreadable @ Self::Unreadable { .. }, _) => unreadable,
            (_, None) => Self::Unreadable { line, text: text.to_owned() },
            (Self::None, Some((first, last))) => Self::Span(first, last),
            (Self::Span(from, to), Some((first, last))) => Self::Span(from.min(first), to.max(last)),
        }
    }
}

/// Where each column is.
struct Columns(Vec<(Column, usize)>);

impl Columns {
    /// Finds the columns by their headings, and by those that are named.
    fn find(headings: &StringRecord, named: &[(Column, String)]) -> Result<Self, String> {
        let of_file = || headings.iter().map(|heading| format!("{:?}", heading.trim())).collect::<Vec<_>>().join(", ");
        let mut columns = Vec::new();
        for (column, name, known) in COLUMNS {
            let named = named.iter().rfind(|(named, _)| *named == column).map(|(_, heading)| heading);
            let is_it = |heading: &str| match named {
                Some(named) => heading.trim() == named.trim(),
                None => known.contains(&&*plain(heading)),
            };
            let found: Vec<(usize, &str)> = headings.iter().enumerate().filter(|(_, heading)| is_it(heading)).collect();
            match (&*found, named) {
                ([], None) => {}
                ([], Some(named)) => {
                    return Err(format!("No column is named {named:?}. Its columns are {}.", of_file()));
                }
                ([(index, _)], _) => columns.push((column, *index)),
                ([(_, one), .., (_, other)], _) => {
                    return Err(format!(
                        "Two columns may be the {name}: {:?} and {:?}. Name one: --column {name}=HEADING; rename one \
                         if both are named alike.",
                        one.trim(),
                        other.trim()
                    ));
                }
            }
        }
        let columns = Self(columns);
        let missing = |name: &str, what: &str| {
            Err(format!("Missing column: {what}. Its columns are {}. Name it: --column {name}=HEADING.", of_file()))
        };
        match () {
            () if columns.get(Column::Id).is_none() && columns.get(Column::Reference).is_none() => {
                missing("reference", "the id or the reference")
            }
            () if columns.get(Column::Amount).is_none() => missing("amount", "the amount"),
            () if columns.get(Column::Currency).is_none() => missing("currency", "the currency"),
            () => Ok(columns),
        }
    }

    fn get(&self, column: Column) -> Option<usize> {
        self.0.iter().find(|(found, _)| *found == column).map(|(_, index)| *index)
    }
}

/// The text of a file, which is UTF-8.
fn decode(bytes: &[u8]) -> Result<&str, String> {
    const REMEDY: &str = "Save it as CSV in UTF-8";
    if UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(format!("The text is UTF-16. {REMEDY}, or convert it: iconv -f UTF-16 -t UTF-8."));
    }
    let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        format!("Line {line} is not UTF-8. {REMEDY}, or convert it, such as by: iconv -f WINDOWS-1252 -t UTF-8.")
    })
}

/// The delimiter, and the headings that it separates.
fn headings(text: &str) -> Result<(u8, StringRecord), String> {
    let first = |delimiter: u8| {
        let mut reader = ReaderBuilder::new().delimiter(delimiter).has_headers(false).from_reader(text.as_bytes());
        let record = reader.records().next().transpose().map_err(|error| error.to_string())?;
        Ok((delimiter, record.ok_or("It is empty. Its first line has the headings of the columns.")?))
    };
    let all = DELIMITERS.into_iter().rev().map(first).collect::<Result<Vec<_>, String>>()?;
    all.into_iter().max_by_key(|(_, record)| record.len()).ok_or_else(String::new)
}

/// A heading in small letters, without spaces, `_` and `-`.
fn plain(heading: &str) -> String {
    heading.to_lowercase().chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-')).collect()
}

fn offset<R: std::io::Read>(reader: &csv::Reader<R>) -> usize {
    usize::try_from(reader.position().byte()).unwrap_or(usize::MAX)
}

fn lines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// The first and the last second of a date or a moment.
fn seconds(text: &str) -> Option<(i64, i64)> {
    let first = Moment::new(text).ok()?.unix();
    let is_day = text.len() == "2026-11-21".len();
    Some((first, if is_day { first + LAST_OF_DAY } else { first }))
}

/// Reads the value of `--column`.
pub(super) fn column(text: &str) -> Result<(Column, String), String> {
    let (name, heading) =
        text.split_once('=').ok_or("It is written NAME=HEADING, such as reference=\"Merchant ref\".")?;
    let column = COLUMNS.iter().find(|(_, known, _)| *known == name.trim()).map(|(column, ..)| *column);
    let column = column.ok_or("The name is id, reference, amount, currency, status or date.")?;
    Ok((column, heading.to_owned()))
}

/// Reads the value of `--from`.
pub(super) fn first_second(text: &str) -> Result<i64, &'static str> {
    seconds(text).map(|(first, _)| first).ok_or("A date is written 2026-11-21, or 2026-11-21T10:30:00Z.")
}

/// Reads the value of `--to`.
pub(super) fn last_second(text: &str) -> Result<i64, &'static str> {
    seconds(text).map(|(_, last)| last).ok_or("A date is written 2026-11-21, or 2026-11-21T10:30:00Z.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Statement, String> {
        Statement::read(text.as_bytes(), &[])
    }

    fn with(text: &str, named: &str) -> Result<Statement, String> {
        Statement::read(text.as_bytes(), &[column(named).unwrap()])
    }

    #[test]
    fn headings_are_found_in_any_case_and_with_any_delimiter() {
        for text in [
            "id,reference,amount,currency,status,date\npi_1,A,45000,XAF,paid,2026-11-21\n",
            "Payment ID;Merchant-Reference;AMOUNT;Currency;Status;Created_at\r\npi_1;A;45000;XAF;paid;2026-11-21\r\n",
            "\"transaction_id\"\t\"external reference\"\tamount\tcurrency\tstatus\tdate\n\
             pi_1\tA\t45000\tXAF\tpaid\t2026-11-21",
            "\u{feff}id,reference,amount,currency,\"status\",\"date\"\n\n\"pi_1\",\"A\",\"45000\",XAF,paid,2026-11-21",
        ] {
            let statement = read(text).unwrap();
            let [row] = &*statement.rows else { panic!("{text}: {statement:?}") };
            let texts = (&*row.id, &*row.reference, &*row.amount, &*row.currency, row.status.as_deref());
            assert_eq!(texts, ("pi_1", "A", "45000", "XAF", Some("paid")), "{text}");
            let day = Moment::new("2026-11-21T00:00:00Z").unwrap().unix();
            assert_eq!(statement.dates, Dates::Span(day, day + 86_399), "{text}");
        }
        assert_eq!(read("id,amount,currency\npi_1,1,XAF").unwrap().rows[0].status, None);
        assert_eq!(read("\"a;b;c;d;e\",id,amount,currency\nx,pi_1,1,XAF").unwrap().rows[0].id, "pi_1");
    }

    #[test]
    fn another_heading_may_be_named() {
        let text = "No,Merchant ref,amount,currency\n1,A,45000,XAF";
        assert_eq!(with(text, "reference=Merchant ref").unwrap().rows[0].reference, "A");
        let missing = with(text, "reference=Ref").unwrap_err();
        assert!(missing.contains("\"Ref\"") && missing.contains("\"Merchant ref\""), "{missing}");
        let two = "payment_id,transaction_id,amount,currency\na,b,1,XAF";
        assert!(read(two).unwrap_err().contains("--column id="), "which one is not guessed");
        assert_eq!(with(two, "id=transaction_id").unwrap().rows[0].id, "b");
        assert!(column("reference").is_err() && column("ref=A").is_err());
    }

    #[test]
    fn a_missing_column_is_named_with_those_of_the_file() {
        for (text, what) in [
            ("amount,currency\n", "the id or the reference"),
            ("id,currency\n", "the amount"),
            ("id,amount\n", "the currency"),
        ] {
            let missing = read(text).unwrap_err();
            assert!(missing.contains(what) && missing.contains("Its columns are \""), "{missing}");
        }
        assert!(read("").unwrap_err().contains("empty"));
    }

    #[test]
    fn a_row_with_other_columns_is_not_judged_and_lines_are_those_of_the_file() {
        let text = "id,amount,currency,note\r\npi_1,1,XAF,\"two\r\nlines\"\r\n\r\npi_2,1,XAF\r\n\
                    pi_3,1,XAF,a,b\r\npi_4,1,XAF,5\" tall\r\n";
        let statement = read(text).unwrap();
        let lines: Vec<(u64, &str)> = statement.rows.iter().map(|row| (row.line, &*row.id)).collect();
        assert_eq!(lines, [(2, "pi_1"), (7, "pi_4")]);
        let lines: Vec<u64> = statement.not_judged.iter().map(|one| one.line).collect();
        assert_eq!(lines, [5, 6]);
    }

    #[test]
    fn an_open_quotation_mark_hides_no_rows() {
        let text = "id,amount,currency,note\npi_1,1,XAF,a\npi_2,1,XAF,\"b\npi_3,1,XAF,c\npi_4,1,XAF,d\n";
        assert!(read(text).unwrap_err().starts_with("Line 3 has a quotation mark"));
    }

    #[test]
    fn a_date_that_cannot_be_read_leaves_the_span_open() {
        let dates = |rows: &str| read(&format!("id,amount,currency,date\n{rows}")).unwrap().dates;
        assert_eq!(dates(""), Dates::None);
        assert_eq!(dates("a,1,XAF,21/11/2026"), Dates::Unreadable { line: 2, text: "21/11/2026".to_owned() });
        let day = dates("a,1,XAF,2026-11-21 10:30:00\nb,1,XAF,2026-11-21T08:30:00+01:00\nc,1,XAF,2026-11-21T07:30:00Z");
        let [first, last] = ["2026-11-21T07:30:00Z", "2026-11-21T10:30:00Z"].map(|at| Moment::new(at).unwrap().unix());
        assert_eq!(day, Dates::Span(first, last));
    }

    #[test]
    fn a_file_in_another_encoding_is_refused_with_the_remedy() {
        let refused = |bytes: &[u8]| Statement::read(bytes, &[]).unwrap_err();
        let latin1 = refused(b"id,amount,currency\npi_1,1,XAF\nR\xe9gl\xe9,1,XAF");
        assert!(latin1.starts_with("Line 3 is not UTF-8") && latin1.contains("iconv"), "{latin1}");
        assert!(refused(b"\xff\xfei\0d\0").contains("UTF-16"));
    }
}
