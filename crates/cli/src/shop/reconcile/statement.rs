//! A statement as CSV: which column is which, and what its rows have.

use crate::shop::utc_offset::UtcOffset;
use csv::{ReaderBuilder, StringRecord};
use guichet::native::ledger::{NotJudged, StatementRow, WhyNotJudged};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
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
    (
        Column::Reference,
        "reference",
        &["reference", "merchantreference", "merchantref", "externalreference", "externalref", "externalid"],
    ),
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
    /// The headings of the columns that are not read.
    pub not_read: Vec<String>,
}

/// The dates of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Dates {
    None,
    /// The first and the last second.
    Span(i64, i64),
    /// A row has none, or one that cannot be read.
    Unreadable(DateAt),
    /// A date may have its day or its month first, and no other date of the file shows which.
    Ambiguous(DateAt),
}

/// A date as it is written, and its line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DateAt {
    pub line: u64,
    pub text: String,
}

/// A moment, or a day or time of a clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Written {
    /// With its offset, in Unix seconds.
    Moment(i64),
    Time(DateTime),
    Day(Date),
}

/// What the dates read so far show.
#[derive(Debug, Default)]
struct DatesRead {
    span: Option<(i64, i64)>,
    unreadable: Option<DateAt>,
    ambiguous: Option<DateAt>,
    /// A date can only be read with its day first.
    is_day_first: bool,
}

impl Statement {
    /// Reads a file. Its times without an offset are those of a clock with this one.
    pub(super) fn open(path: &Path, columns: &[(Column, String)], offset: UtcOffset) -> Result<Self, String> {
        let name = path.display();
        let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
        Self::read(&bytes, columns, offset).map_err(|error| format!("{name}: {error}"))
    }

    fn read(bytes: &[u8], columns: &[(Column, String)], utc_offset: UtcOffset) -> Result<Self, String> {
        let text = decode(bytes)?;
        let (delimiter, headings) = headings(text)?;
        let columns = Columns::find(&headings, columns)?;
        let mut reader =
            ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes());
        let not_read = columns.not_read(&headings);
        let mut statement = Self { rows: Vec::new(), not_judged: Vec::new(), dates: Dates::None, not_read };
        let mut dates = DatesRead::default();
        let (mut record, mut line, mut counted_to) = (StringRecord::new(), 1, 0);
        loop {
            let start = offset(&reader);
            if !reader.read_record(&mut record).map_err(|error| error.to_string())? {
                statement.dates = dates.end();
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
            if record.len() != headings.len() {
                statement.not_judged.push(NotJudged { line, why: WhyNotJudged::Columns });
                continue;
            }
            let text = |column| columns.get(column).and_then(|index| record.get(index));
            if let Some(date) = text(Column::Date) {
                dates.add(line, date.trim(), utc_offset);
            }
            let owned = |column| text(column).unwrap_or_default().to_owned();
            statement.rows.push(StatementRow {
                line,
                id: owned(Column::Id),
                reference: owned(Column::Reference),
                amount: owned(Column::Amount),
                currency: owned(Column::Currency),
                status: text(Column::Status).map(str::to_owned),
            });
        }
    }
}

impl DatesRead {
    fn add(&mut self, line: u64, text: &str, offset: UtcOffset) {
        let written = Written::read(text).or_else(|| {
            match parts(text)? {
                (day, month) if day == month => {}
                (1..=12, 1..=12) => {
                    self.ambiguous.get_or_insert_with(|| DateAt { line, text: text.to_owned() });
                }
                _ => self.is_day_first = true,
            }
            Written::day_first(text)
        });
        match (written.and_then(|written| written.seconds(offset)), self.span) {
            (None, _) => {
                self.unreadable.get_or_insert_with(|| DateAt { line, text: text.to_owned() });
            }
            (read, None) => self.span = read,
            (Some((first, last)), Some((from, to))) => self.span = Some((from.min(first), to.max(last))),
        }
    }

    fn end(self) -> Dates {
        match self {
            Self { unreadable: Some(date), .. } => Dates::Unreadable(date),
            Self { ambiguous: Some(date), is_day_first: false, .. } => Dates::Ambiguous(date),
            Self { span: Some((first, last)), .. } => Dates::Span(first, last),
            Self { span: None, .. } => Dates::None,
        }
    }
}

impl Written {
    /// Reads RFC 3339, and a day or time in its form.
    fn read(text: &str) -> Option<Self> {
        // What has an offset would be read as a time, too, without it.
        match text.parse::<Timestamp>() {
            Ok(at) => Some(Self::Moment(at.as_second())),
            Err(_) if text.len() == "2026-11-21".len() => text.parse().ok().map(Self::Day),
            Err(_) => text.parse().ok().map(Self::Time),
        }
    }

    /// Reads `30/11/2026`, with a time or without.
    fn day_first(text: &str) -> Option<Self> {
        let time = |format| DateTime::strptime(format, text).map(Self::Time);
        let day = Date::strptime("%d/%m/%Y", text).map(Self::Day);
        let written = day.or_else(|_| time("%d/%m/%Y %H:%M")).or_else(|_| time("%d/%m/%Y %H:%M:%S")).ok();
        // A year of two digits is none of the first century.
        written.filter(|written| match written {
            Self::Moment(_) => true,
            Self::Time(at) => at.year() > 99,
            Self::Day(day) => day.year() > 99,
        })
    }

    /// Its first and its last second.
    pub(super) fn seconds(self, offset: UtcOffset) -> Option<(i64, i64)> {
        let midnight = |day| offset.day(Some(day), 0).ok().map(|(_, begins)| begins);
        match self {
            Self::Moment(at) => Some((at, at)),
            Self::Time(at) => {
                let second = midnight(at.date())? + at.time().duration_since(Time::midnight()).as_secs();
                Some((second, second))
            }
            Self::Day(day) => midnight(day).map(|first| (first, first + LAST_OF_DAY)),
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

    /// The headings of the other columns.
    fn not_read(&self, headings: &StringRecord) -> Vec<String> {
        let is_read = |index| self.0.iter().any(|(_, read)| *read == index);
        let others =
            headings.iter().enumerate().filter(|(index, heading)| !is_read(*index) && !heading.trim().is_empty());
        others.map(|(_, heading)| heading.trim().to_owned()).collect()
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

/// The first two numbers of a date with slashes.
fn parts(text: &str) -> Option<(u8, u8)> {
    let mut parts = text.split('/').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Reads the value of `--column`.
pub(super) fn column(text: &str) -> Result<(Column, String), String> {
    let (name, heading) =
        text.split_once('=').ok_or("It is written NAME=HEADING, such as reference=\"Order number\".")?;
    let column = COLUMNS.iter().find(|(_, known, _)| *known == name.trim()).map(|(column, ..)| *column);
    let column = column.ok_or("The name is id, reference, amount, currency, status or date.")?;
    Ok((column, heading.to_owned()))
}

/// Reads the value of `--from` and `--to`.
pub(super) fn date(text: &str) -> Result<Written, &'static str> {
    Written::read(text).ok_or("A date is written 2026-11-21, or 2026-11-21T10:30:00Z.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Statement, String> {
        Statement::read(text.as_bytes(), &[], UtcOffset::default())
    }

    fn with(text: &str, named: &str) -> Result<Statement, String> {
        Statement::read(text.as_bytes(), &[column(named).unwrap()], UtcOffset::default())
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
            assert_eq!(statement.dates, span("2026-11-21T00:00:00Z", "2026-11-21T23:59:59Z"), "{text}");
        }
        assert_eq!(read("id,amount,currency\npi_1,1,XAF").unwrap().rows[0].status, None);
        assert_eq!(read("\"a;b;c;d;e\",id,amount,currency\nx,pi_1,1,XAF").unwrap().rows[0].id, "pi_1");
    }

    #[test]
    fn another_heading_may_be_named() {
        let text = "No,Order number,amount,currency\n1,A,45000,XAF";
        assert_eq!(with(text, "reference=Order number").unwrap().rows[0].reference, "A");
        let missing = with(text, "reference=Ref").unwrap_err();
        assert!(missing.contains("\"Ref\"") && missing.contains("\"Order number\""), "{missing}");
        let two = "payment_id,transaction_id,amount,currency\na,b,1,XAF";
        assert!(read(two).unwrap_err().contains("--column id="), "which one is not guessed");
        assert_eq!(with(two, "id=transaction_id").unwrap().rows[0].id, "b");
        assert!(column("reference").is_err() && column("ref=A").is_err());
    }

    #[test]
    fn a_heading_that_can_only_be_our_reference_is_found() {
        for heading in ["Merchant ref", "Merchant Reference", "external_ref", "External ID", "External-Reference"] {
            let statement = read(&format!("{heading},amount,currency\nA,45000,XAF")).unwrap();
            assert_eq!(statement.rows[0].reference, "A", "{heading}");
        }
        for heading in ["Ref", "Order ID"] {
            read(&format!("{heading},amount,currency\nA,45000,XAF")).unwrap_err();
        }
    }

    #[test]
    fn columns_that_are_not_read_are_named() {
        let statement = read("Fee,id,Merchant note,amount,currency,\n100,pi_1,a,45000,XAF,").unwrap();
        assert_eq!(statement.not_read, ["Fee", "Merchant note"]);
        let statement = with("No,id,ref,amount,currency\n1,pi_1,A,45000,XAF", "reference=ref").unwrap();
        assert_eq!(statement.not_read, ["No"]);
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
        assert_eq!(dates(&[], ""), Dates::None);
        for text in ["", "21 November", "11/21/2026", "21/11/26", "31/11/2026", "21/11", "21/11/2026 10:30 PM"] {
            let date = DateAt { line: 3, text: text.to_owned() };
            assert_eq!(dates(&["2026-11-21", text], ""), Dates::Unreadable(date));
        }
        let day = ["2026-11-21 10:30:00", "2026-11-21T08:30:00+01:00", "2026-11-21T07:45:00Z"];
        assert_eq!(dates(&day, ""), span("2026-11-21T07:30:00Z", "2026-11-21T10:30:00Z"));
    }

    #[test]
    fn a_date_with_its_day_first_is_read_if_it_can_only_be_that() {
        assert_eq!(dates(&["05/11/2026", "30/11/2026"], ""), november_from("2026-11-05T00:00:00Z"), "30 is no month");
        assert_eq!(dates(&["30/11/2026", "5/11/2026 16:55"], ""), november_from("2026-11-05T16:55:00Z"));
        assert_eq!(dates(&["30/11/2026", "05/11/2026 16:55:12"], ""), november_from("2026-11-05T16:55:12Z"));
        assert_eq!(dates(&["11/11/2026"], ""), span("2026-11-11T00:00:00Z", "2026-11-11T23:59:59Z"), "either way");
        let date = DateAt { line: 3, text: "05/11/2026 16:55".to_owned() };
        assert_eq!(dates(&["11/11/2026", "05/11/2026 16:55", "06/11/2026"], ""), Dates::Ambiguous(date));
        let date = DateAt { line: 3, text: "11/30/2026".to_owned() };
        assert_eq!(dates(&["05/11/2026", "11/30/2026"], ""), Dates::Unreadable(date), "its month is first");
    }

    #[test]
    fn a_time_without_an_offset_is_that_of_the_clock() {
        let texts = ["2026-11-05", "06/11/2026 16:55", "30/11/2026"];
        assert_eq!(dates(&texts, "+01:00"), span("2026-11-04T23:00:00Z", "2026-11-30T22:59:59Z"));
        let texts = ["2026-11-05 10:30:00", "2026-11-05T10:30:00Z", "2026-11-05T10:30:00-05:00"];
        assert_eq!(dates(&texts, "+01:00"), span("2026-11-05T09:30:00Z", "2026-11-05T15:30:00Z"));
    }

    fn dates(dates: &[&str], offset: &str) -> Dates {
        let rows: String = dates.iter().map(|date| format!("a,1,XAF,{date}\n")).collect();
        let offset = Some(offset).filter(|offset| !offset.is_empty()).map(|offset| offset.parse().unwrap());
        let text = format!("id,amount,currency,date\n{rows}");
        Statement::read(text.as_bytes(), &[], offset.unwrap_or_default()).unwrap().dates
    }

    fn span(first: &str, last: &str) -> Dates {
        let [first, last] = [first, last].map(|at| at.parse::<Timestamp>().unwrap().as_second());
        Dates::Span(first, last)
    }

    fn november_from(first: &str) -> Dates {
        span(first, "2026-11-30T23:59:59Z")
    }

    #[test]
    fn a_file_in_another_encoding_is_refused_with_the_remedy() {
        let refused = |bytes: &[u8]| Statement::read(bytes, &[], UtcOffset::default()).unwrap_err();
        let latin1 = refused(b"id,amount,currency\npi_1,1,XAF\nR\xe9gl\xe9,1,XAF");
        assert!(latin1.starts_with("Line 3 is not UTF-8") && latin1.contains("iconv"), "{latin1}");
        assert!(refused(b"\xff\xfei\0d\0").contains("UTF-16"));
    }
}
