//! Why a step has no result.

/// Why a step has no result.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("client {client} of {clients}, {doing}: {source}")]
    Client { client: u32, clients: u32, doing: &'static str, source: Box<rqps_wire::Error> },
    /// The observer asked for the end.
    #[error("cancelled")]
    Cancelled,
    /// A thread could not be started.
    #[error(
        "can't start a thread for client {client}: {source}; lower the plan's `clients` or raise the limit of processes"
    )]
    Thread { client: u32, source: std::io::Error },
    /// A client's thread panicked: a defect of the program.
    #[error("client {0} panicked; please report this with the message above")]
    Panicked(u32),
    /// The step is sysbench's, and it gave no result.
    #[error(transparent)]
    Sysbench(#[from] crate::sysbench::error::Error),
    /// The queue's engine was given a test that has no queue: a defect of the program.
    #[error("test `{0}` is no step of the Insert Benchmark")]
    NoQueue(&'static str),
    /// Histograms of unlike bounds: a defect of the program.
    #[error("can't add up histograms: {0}")]
    Histogram(String),
}
