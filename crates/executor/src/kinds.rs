//! What the journal calls actions, and which of them change data.

use rqps_plan::ActionKind;

/// Whether the action leaves other data, which have to be durable before it counts as done.
pub(crate) fn changes_data(kind: &ActionKind) -> bool {
    match kind {
        ActionKind::Load(_) | ActionKind::Vacuum => true,
        ActionKind::Measure(step) => step.writes,
        ActionKind::Settle(_) | ActionKind::Start | ActionKind::Stop => false,
    }
}

/// The journal's name of its kind.
pub(crate) fn kind_name(kind: &ActionKind) -> &'static str {
    match kind {
        ActionKind::Start => "start",
        ActionKind::Load(_) => "load",
        ActionKind::Vacuum => "vacuum",
        ActionKind::Settle(_) => "settle",
        ActionKind::Measure(_) => "measure",
        ActionKind::Stop => "stop",
    }
}

/// The journal's name of its step; empty for starts and stops.
pub(crate) fn step_name(kind: &ActionKind) -> &str {
    match kind {
        ActionKind::Start | ActionKind::Stop => "",
        other => other.name(),
    }
}
