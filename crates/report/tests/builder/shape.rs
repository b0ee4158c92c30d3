//! Checks that every section has a consistent shape in JSON and CSV.

use rqps_report::{Format, Section};

/// Panics if JSON rows lack columns, or rows of a CSV table differ in their number of fields.
pub fn check_every_section(show: impl Fn(Section, Format) -> String) {
    for section in Section::ALL {
        let name = section.key();
        let json: serde_json::Value = serde_json::from_str(&show(section, Format::Json)).unwrap();
        for table in json["tables"].as_array().unwrap() {
            let columns = table["columns"].as_array().unwrap().len();
            for row in table["rows"].as_array().unwrap() {
                assert!(row.as_object().unwrap().len() >= columns, "{name}: two columns share a key: {row}");
            }
        }
        let csv = show(section, Format::Csv);
        let data: String =
            csv.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
        for part in data.split("\n\n") {
            let mut reader = csv::Reader::from_reader(part.as_bytes());
            assert!(reader.records().all(|record| record.is_ok()), "{name}: {part}");
        }
    }
}
