//! PNG rendering: text is drawn with the built-in fonts, and unusable input is an error.
#![cfg(feature = "png")]

use rqps_charts::png;

fn svg(content: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" font-family="system-ui,sans-serif">{content}</svg>"#
    )
}

#[test]
fn text_is_drawn_with_the_built_in_fonts() {
    let empty = png(&svg(""), 2.0).unwrap();
    assert_eq!(&empty[..8], b"\x89PNG\r\n\x1a\n");
    // Width and height follow the signature and the name of the first chunk.
    assert_eq!(empty[16..24], [0, 0, 0, 80, 0, 0, 0, 40]);
    let written = png(&svg(r#"<text x="2" y="15">rQPS</text>"#), 2.0).unwrap();
    assert!(
        written.len() > empty.len() + 100,
        "{} and {} bytes: no letter was drawn",
        empty.len(),
        written.len()
    );
}

#[test]
fn unusable_input_is_an_error() {
    assert!(png(&svg(""), 1e6).unwrap_err().to_string().contains("a smaller scale"));
    assert!(png(&svg(""), f32::NAN).is_err());
    assert!(png("<svg", 1.0).is_err());
}
