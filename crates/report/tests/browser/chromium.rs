//! Drives a headless Chromium by its DevTools protocol over pipes: JSON messages terminated by a zero byte,
//! on file descriptors 3 and 4 of the browser, to which the starting shell redirects its standard input and
//! output.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Timeout for an answer or an event.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A browser with one page.
pub struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    events: Vec<Value>,
    session: String,
    last_id: u64,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts the browser with an empty page.
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromium starts: tools/debian-packages installs it");
        let to = child.stdin.take().unwrap();
        let out = child.stdout.take().unwrap();
        let (send, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let Ok(value) = serde_json::from_slice(&message) else { continue };
                if send.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            events: Vec::new(),
            session: String::new(),
            last_id: 0,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method of the protocol and returns its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("chromium accepts messages; if not, try `chromium --headless`");
        let end = Instant::now() + TIMEOUT;
        loop {
            let answer = self.next(end).unwrap_or_else(|| panic!("{method} was not answered"));
            if answer["id"] == json!(self.last_id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self, end: Instant) -> Option<Value> {
        self.from.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
    }

    /// Opens a file, waits until it is loaded, and returns the elapsed time.
    #[track_caller]
    pub fn open(&mut self, file: &Path) -> Duration {
        self.events.clear();
        let start = Instant::now();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        let end = start + TIMEOUT;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next(end).expect("the page is loaded");
            self.events.push(event);
        }
        start.elapsed()
    }

    /// Evaluates a JavaScript expression; awaits a promise.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        let thrown = &result["exceptionDetails"];
        assert!(thrown.is_null(), "{}: {thrown}", &expression[..expression.len().min(200)]);
        result["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression has this value: the effect of a click may be delayed.
    #[track_caller]
    pub fn expect(&mut self, expression: &str, expected: &Value) {
        let end = Instant::now() + TIMEOUT;
        loop {
            let value = self.value(expression);
            if value == *expected {
                return;
            }
            assert!(Instant::now() < end, "{expression} is {value}, not {expected}");
            self.value("new Promise((done) => setTimeout(done, 20))");
        }
    }

    /// Console messages, exceptions and browser log entries of the page.
    pub fn messages(&mut self) -> Vec<String> {
        self.value("new Promise((done) => setTimeout(done, 50))");
        let message = |event: &Value| match event["method"].as_str()? {
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => {
                Some(event["params"].to_string())
            }
            _ => None,
        };
        self.events.iter().filter_map(message).collect()
    }

    /// URLs that the page requested.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Sets the width of the window and the system's theme.
    pub fn set_display(&mut self, width: u32, theme: &str) {
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Drags the mouse between two points of the window.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let mut event = |kind: &str, (x, y): (f64, f64), buttons: u32| {
            let button = if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" };
            let params =
                json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", params);
        };
        event("mouseMoved", from, 0);
        event("mousePressed", from, 1);
        event("mouseMoved", ((from.0 + to.0) / 2.0, to.1), 1);
        event("mouseMoved", to, 1);
        event("mouseReleased", to, 0);
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Closing by protocol also ends helper processes.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            let _ = self.from.recv_timeout(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
