//! The checker as the Go binary tries it.

use crate::program::{PROMOTION, Program, repository};

#[test]
fn seventeen_fixtures_flip_with_fourteen_days() {
    let dir = tempfile::tempdir().unwrap();
    let (store, set) = (dir.path().join("r.db"), repository().join("examples/promotion"));
    let (store, set) = (store.to_str().unwrap(), set.to_str().unwrap());
    let run = ["run", "--store", store, set, "--baseline", PROMOTION, "--candidate", PROMOTION];
    let (status, stdout, stderr) = Program::retrial(&run).end();
    assert_eq!(status, 1, "{stdout}{stderr}");
    assert!(stdout.contains("confirmed  200 of 200 by the baseline\n"), "{stdout}");
    assert!(stdout.ends_with("release blocked: 17 fixtures flipped\n"), "{stdout}");
    let with_thirty = [&run[..], &["--candidate-param", "max_age_days=30"]].concat();
    let (status, stdout, stderr) = Program::retrial(&with_thirty).end();
    assert_eq!(status, 0, "{stdout}{stderr}");
}
