//! PNG of drawings: text is painted on a machine without fonts, and what cannot be painted is said.
#![cfg(feature = "png")]

use rqps_charts::png;

fn svg(content: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" font-family="system-ui,sans-serif">{content}</svg>"#
    )
}

#[test]
fn text_is_painted_with_the_fonts_that_come_along() {
    let empty = png(&svg(""), 2.0).unwrap();
    assert_eq!(&empty[..8], b"\x89PNG\r\n\x1a\n");
    // Width and height follow the signature and the name of the first chunk.
    assert_eq!(empty[16..24], [0, 0, 0, 80, 0, 0, 0, 40]);
    let written = png(&svg(r#"<text x="2" y="15">rQPS</text>"#), 2.0).unwrap();
    assert!(
        written.len() > empty.len() + 100,
        "{} and {} bytes: no letter was painted",
        empty.len(),
        written.len()
    );
}

#[test]
fn what_cannot_be_painted_is_said() {
    assert!(png(&svg(""), 1e6).unwrap_err().to_string().contains("a smaller scale"));
    assert!(png(&svg(""), f32::NAN).is_err());
    assert!(png("<svg", 1.0).is_err());
}
