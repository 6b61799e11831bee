//! The hosting service's workflows run the scripts' steps.

use crate::repository::read;

/// The step that each job runs first. It is in no matrix.
const FIRST: &str = "tools";

/// Returns the steps of a script, in the order of its `--list`.
fn steps_of_script(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.strip_prefix("describe ")?.split(' ').next());
    names.filter(|&name| name != FIRST).collect()
}

/// Returns the entries of the list below `step:` in a workflow's matrix.
fn steps_of_workflow(text: &str) -> Vec<&str> {
    let behind =
        text.lines().skip_while(|line| line.trim() != "step:" || !line.starts_with("        ")).skip(1);
    behind.map_while(|line| line.trim().strip_prefix("- ")).collect()
}

#[track_caller]
fn same_steps(workflow: &str, script: &str) {
    let (in_workflow, in_script) = (read(workflow), read(script));
    let steps = steps_of_script(&in_script);
    assert!(!steps.is_empty(), "{script} has no steps");
    assert_eq!(steps_of_workflow(&in_workflow), steps, "{workflow}, and {script} --list");
    let call = format!("- run: {script} {FIRST} ${{{{ matrix.step }}}}");
    assert!(in_workflow.contains(&call), "{workflow} has no \"{call}\"");
}

#[test]
fn the_gate_has_a_job_for_each_step() {
    same_steps(".github/workflows/ci.yml", ".ci/run");
}

#[test]
fn the_weekly_run_has_a_job_for_each_step() {
    same_steps(".github/workflows/full.yml", ".ci/full");
}
