//! The structs, the states and the wait reasons against Go's.

use gosched::runtime2::*;

use crate::places::structs_of;
use crate::repository::read;
use crate::structs::{declaration, in_source, in_table};
use crate::tables::{rows, type_name};

/// Structs of the table that this crate lacks, because nothing would use them.
const LEFT_OUT: [&str; 1] = ["coro"];

/// Returns each struct of the table that this crate has, with its file.
fn structs() -> Vec<(&'static str, String)> {
    let mut structs: Vec<_> = rows("fields").into_iter().map(|[file, go, _, _, _]| (file, go)).collect();
    structs.dedup();
    structs.retain(|(_, go)| !LEFT_OUT.contains(&go.as_str()));
    structs.into_iter().map(|(file, go)| (structs_of(&file), go)).collect()
}

fn parse(path: &str) -> syn::File {
    syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn structs_have_gos_fields_in_gos_order() {
    let mut wrong = Vec::new();
    for (path, go) in structs() {
        let name = type_name(&go);
        let expected = in_table(&go);
        let mut found = in_source(&parse(path), &name, &expected);
        found.pop_if(|last| last == "ext");
        let differs = |&i: &usize| expected.get(i) != found.get(i);
        if let Some(i) = (0..expected.len().max(found.len())).find(differs) {
            let show = |fields: &[String]| fields.get(i).cloned().unwrap_or("the end, or ext".to_owned());
            wrong.push(format!(
                "{path}: field {} of {name}: expected {}, found {}",
                i + 1,
                show(&expected),
                show(&found)
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn structs_are_laid_out_in_that_order() {
    let is_repr_c = |attr: &syn::Attribute| {
        let arguments = attr.meta.require_list().map(|list| list.tokens.to_string());
        attr.path().is_ident("repr") && arguments.is_ok_and(|arguments| arguments.starts_with('C'))
    };
    for (path, go) in structs() {
        let file = parse(path);
        let item = declaration(&file, &type_name(&go));
        assert!(item.attrs.iter().any(is_repr_c), "{path}: {} isn't repr(C)", item.ident);
    }
}

#[test]
fn states_have_gos_values() {
    let states = [
        ("_Gidle", GIDLE, 0),
        ("_Grunnable", GRUNNABLE, 1),
        ("_Grunning", GRUNNING, 2),
        ("_Gsyscall", GSYSCALL, 3),
        ("_Gwaiting", GWAITING, 4),
        ("_Gmoribund_unused", GMORIBUND_UNUSED, 5),
        ("_Gdead", GDEAD, 6),
        ("_Genqueue_unused", GENQUEUE_UNUSED, 7),
        ("_Gcopystack", GCOPYSTACK, 8),
        ("_Gpreempted", GPREEMPTED, 9),
        ("_Gscan", GSCAN, 0x1000),
        ("_Gscanrunnable", GSCANRUNNABLE, 0x1001),
        ("_Gscanrunning", GSCANRUNNING, 0x1002),
        ("_Gscansyscall", GSCANSYSCALL, 0x1003),
        ("_Gscanwaiting", GSCANWAITING, 0x1004),
        ("_Gscanpreempted", GSCANPREEMPTED, 0x1009),
        ("_Pidle", PIDLE, 0),
        ("_Prunning", PRUNNING, 1),
        ("_Psyscall", PSYSCALL, 2),
        ("_Pgcstop", PGCSTOP, 3),
        ("_Pdead", PDEAD, 4),
    ];
    for (name, ours, gos) in states {
        assert_eq!(ours, gos, "{name}");
    }
}

#[test]
fn wait_reasons_are_gos() {
    let gos: Vec<[String; 3]> = rows("wait-reasons");
    assert!(WaitReason::ALL.len() > gos.len(), "ours stand behind Go's");
    for (reason, expected) in WaitReason::ALL.iter().zip(gos) {
        let value = *reason as u8;
        assert_eq!([value.to_string(), format!("{reason:?}"), reason.as_str().to_owned()], expected);
    }
}
