//! Real servers of two versions: made, started, stopped, refused.

use rqps_servers::testing::Scratch;

#[test]
fn made_started_stopped_and_started_again() {
    for version in ["14", "18"] {
        let mut scratch = Scratch::start(version).unwrap();
        assert!(scratch.alive());
        let socket = scratch.endpoint().socket_dir.join(".s.PGSQL.5432");
        assert!(socket.exists(), "{}", socket.display());
        scratch.restart().unwrap();
        assert!(scratch.alive(), "{}", scratch.log_tail(20));
    }
}
