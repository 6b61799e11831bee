//! The default of `GOMAXPROCS`: as many P's as the process may use processors, but no more than the
//! CPU limit of its control group allows. Go 1.25's `cgroup_linux.go` and its package
//! `internal/runtime/cgroup`; 1.22 knows nothing of control groups.
//!
//! `/proc/self/cgroup` names the group, and `/proc/self/mountinfo` says where its files are:
//!
//! ```text
//!     0::/app/worker                                                  /proc/self/cgroup
//!     31 23 0:28 /app /sys/fs/cgroup rw - cgroup2 cgroup2 rw          /proc/self/mountinfo
//!                ^root ^mount point
//!     /sys/fs/cgroup/worker/cpu.max                                   150000 100000
//! ```
//!
//! Go reads the limit of the innermost group. A group around it may have a lower limit (a systemd
//! slice, a Kubernetes pod), so here the lowest limit that can be seen counts, as in std's
//! `available_parallelism`.
//!
//! The files stay open, as in Go, and are read again from their beginning. So the group is looked
//! up only once, and a process that is moved to another group doesn't notice.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::runtime::base::debug::container_maxprocs_off;
use crate::runtime::base::os::getproccount;
use crate::runtime::data::runtime2::sched;

/// Returns the number of P's that the system suggests now. Returns none if the system doesn't tell,
/// as in a sandbox, or if the descriptors were closed. Reads files, so it isn't called where that
/// may take too long. Go's `defaultGOMAXPROCS`.
///
/// Asks for the processors of sysmon's thread: no code of the program's runs there, so the program
/// hasn't bound that thread alone to a processor.
pub(super) fn default_gomaxprocs() -> Option<i32> {
    static LIMITS: OnceLock<Vec<Limit>> = OnceLock::new();
    // 0, which is this thread, while there is no sysmon. Sysmon's thread will begin with the same
    // processors.
    let procs = getproccount(sched().ext.turns.sysmon.load(Ordering::Relaxed))?;
    if container_maxprocs_off() {
        return Some(procs);
    }
    let limits = LIMITS.get_or_init(|| find_group().map_or(Vec::new(), |group| open_cpu(&group)));
    Some(adjust_cgroup_gomaxprocs(procs, read_cpu_limit(limits)?))
}

/// Lowers `procs` to a limit, rounded up, but not below two, because even a small program makes use
/// of two. Go's `adjustCgroupGOMAXPROCS`.
fn adjust_cgroup_gomaxprocs(procs: i32, limit: f64) -> i32 {
    procs.min(limit.ceil().max(2.0) as i32)
}

/// The version of control groups whose files have the limit. Go's `Version`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    V1,
    V2,
}

/// The group that this process is in.
#[derive(Debug, PartialEq)]
struct Group {
    version: Version,
    mount_point: PathBuf,
    /// The group's directory, below the mount point.
    folder: PathBuf,
}

/// The files that have the limit of one group. Go's `CPU`.
enum Limit {
    V1 { quota: File, period: File },
    V2(File),
}

impl Limit {
    fn open(version: Version, folder: &Path) -> Option<Limit> {
        let open = |file| File::open(folder.join(file)).ok();
        Some(match version {
            Version::V1 => Limit::V1 { quota: open("cpu.cfs_quota_us")?, period: open("cpu.cfs_period_us")? },
            Version::V2 => Limit::V2(open("cpu.max")?),
        })
    }

    /// Returns the present limit, in processors, or none if it can't be read.
    fn read(&self) -> Option<f64> {
        match self {
            Limit::V1 { quota, period } => {
                let (quota, period) = (reread(quota, parse_v1_number)?, reread(period, parse_v1_number)?);
                Some(if quota < 0 { f64::INFINITY } else { quota as f64 / period as f64 })
            }
            Limit::V2(file) => reread(file, parse_v2_limit),
        }
    }
}

/// Parses the present contents of a small file.
fn reread<T>(file: &File, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut text = [0; 64];
    let len = file.read_at(&mut text, 0).ok()?;
    parse(str::from_utf8(&text[..len]).ok()?)
}

/// Finds the group that this process is in.
fn find_group() -> Option<Group> {
    let groups = fs::read("/proc/self/cgroup").ok()?;
    let (version, group) = parse_cpu_cgroup(&groups)?;
    parse_cpu_mount(&fs::read("/proc/self/mountinfo").ok()?, version, group)
}

/// Opens the files with the limits of the group and of the groups around it, if they can be read.
/// Go's `OpenCPU`.
fn open_cpu(group: &Group) -> Vec<Limit> {
    let folders = group.folder.ancestors().take_while(|folder| folder.starts_with(&group.mount_point));
    let limits = folders.filter_map(|folder| Limit::open(group.version, folder));
    limits.filter(|limit| limit.read().is_some()).collect()
}

/// Returns the lowest of these limits now, infinite if there are no limits. Returns none if one
/// can't be read any more. Go's `ReadCPULimit`.
fn read_cpu_limit(limits: &[Limit]) -> Option<f64> {
    limits.iter().try_fold(f64::INFINITY, |lowest, limit| Some(lowest.min(limit.read()?)))
}

/// Parses a file with a number and a newline. Go's `parseV1Number`.
fn parse_v1_number(text: &str) -> Option<i64> {
    text.strip_suffix('\n')?.parse().ok()
}

/// Parses a file with quota and period to a limit, infinite if the quota is `max`. Go's
/// `parseV2Limit`.
fn parse_v2_limit(text: &str) -> Option<f64> {
    let (quota, period) = text.strip_suffix('\n')?.split_once(' ')?;
    if quota == "max" {
        return Some(f64::INFINITY);
    }
    Some(quota.parse::<i64>().ok()? as f64 / period.parse::<i64>().ok()? as f64)
}

/// Returns the version and path of the group that limits processors. It is the group of version 1
/// if version 1 has the `cpu` controller, which version 2 then can't have. Go's `parseCPUCgroup`.
fn parse_cpu_cgroup(text: &[u8]) -> Option<(Version, &[u8])> {
    let mut v2 = None;
    for line in lines(text) {
        // hierarchy:controller,controller:path
        let mut fields = line.splitn(3, |&byte| byte == b':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if !path.starts_with(b"/") {
            return None;
        }
        if hierarchy == b"0" {
            v2 = Some((Version::V2, path));
        } else if contains_cpu(controllers) {
            return Some((Version::V1, path));
        }
    }
    v2
}

/// Whether `cpu` is in a list with commas. Go's `containsCPU`.
fn contains_cpu(list: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|name| name == b"cpu")
}

/// Returns where `cgroup` can be seen: below the first mount of its hierarchy that contains it.
/// Go's `parseCPUMount`.
fn parse_cpu_mount(text: &[u8], version: Version, cgroup: &[u8]) -> Option<Group> {
    for line in lines(text) {
        // id parent device root mount-point options optional.. - type source super-options
        let mut fields = line.split(|&byte| byte == b' ');
        let (root, mount_point) = (fields.nth(3)?, fields.next()?);
        fields.find(|&field| field == b"-")?;
        let (kind, _source, options) = (fields.next()?, fields.next()?, fields.next()?);
        let wanted = match version {
            Version::V1 => kind == b"cgroup" && contains_cpu(options),
            Version::V2 => kind == b"cgroup2",
        };
        if !wanted {
            continue;
        }
        let root = PathBuf::from(unescape_path(root)?);
        let cgroup = PathBuf::from(OsString::from_vec(cgroup.to_vec()));
        // A path outside of the namespace's root begins with "..": its files can't be seen here.
        if let Ok(group) = cgroup.strip_prefix(&root)
            && !group.starts_with("..")
        {
            let mount_point = PathBuf::from(unescape_path(mount_point)?);
            return Some(Group { version, folder: mount_point.join(group), mount_point });
        }
    }
    None
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// Undoes the kernel's escapes for blanks and backslashes: `\` and three octal digits. Go's
/// `unescapePath`.
fn unescape_path(path: &[u8]) -> Option<OsString> {
    let mut parts = path.split(|&byte| byte == b'\\');
    let mut unescaped = parts.next()?.to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3)?;
        unescaped.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()?);
        unescaped.extend(rest);
    }
    Some(OsString::from_vec(unescaped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded_up_and_at_least_two() {
        for (procs, limit, expected) in [
            (8, 0.1, 2),
            (8, 2.0, 2),
            (8, 2.01, 3),
            (8, 7.5, 8),
            (8, 8.0, 8),
            (8, 100.0, 8),
            (8, f64::INFINITY, 8),
            (1, 0.5, 1),
        ] {
            assert_eq!(adjust_cgroup_gomaxprocs(procs, limit), expected, "{procs} {limit}");
        }
    }

    #[test]
    fn numbers() {
        for (text, number) in [
            ("-1\n", Some(-1)),
            ("500000\n", Some(500_000)),
            ("9223372036854775807\n", Some(i64::MAX)),
            ("500000", None),
            ("max\n", None),
            ("1000 5000\n", None),
            ("", None),
        ] {
            assert_eq!(parse_v1_number(text), number, "{text:?}");
        }
        for (text, limit) in [
            ("max 100000\n", Some(f64::INFINITY)),
            ("500000 100000\n", Some(5.0)),
            ("50000 100000\n", Some(0.5)),
            ("9223372036854775807 9223372036854775807\n", Some(1.0)),
            ("500000 100000", None),
            ("500000\n", None),
            ("x 100000\n", None),
        ] {
            assert_eq!(parse_v2_limit(text), limit, "{text:?}");
        }
    }

    #[test]
    fn groups() {
        use Version::{V1, V2};
        for (text, expected) in [
            ("0::/\n", Some((V2, "/"))),
            ("0::/a/b c:d\n", Some((V2, "/a/b c:d"))),
            ("2:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c\n", Some((V1, "/a"))),
            ("0::/c\n2:cpuacct,cpu:/a\n", Some((V1, "/a"))),
            ("3:cpuset,cpuacct:/a\n0::/c\n", Some((V2, "/c"))),
            ("3:cpuset:/a\n", None),
            ("", None),
            ("0:/c\n", None),
            ("0::c\n", None),
        ] {
            let expected = expected.map(|(version, path)| (version, path.as_bytes()));
            assert_eq!(parse_cpu_cgroup(text.as_bytes()), expected, "{text:?}");
        }
    }

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime - ext4 /dev/root rw
25 21 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw
49 22 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
56 22 0:40 / /sys/fs/cgroup/cpu rw shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct
59 22 0:43 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
";

    #[test]
    fn mounts() {
        use Version::{V1, V2};
        let mount = |root: &str, point: &str| format!("25 21 0:22 {root} {point} rw - cgroup2 cgroup2 rw\n");
        let two = mount("/other", "/other") + &mount("/", "/all");
        for (text, version, cgroup, expected) in [
            (MOUNTS, V1, "/", Some(("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu"))),
            (MOUNTS, V1, "/a/b", Some(("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/a/b"))),
            (MOUNTS, V2, "/a", Some(("/sys/fs/cgroup", "/sys/fs/cgroup/a"))),
            (&mount("/", "/a\\040b\\134c"), V2, "/", Some(("/a b\\c", "/a b\\c"))),
            (&mount("/box", "/cg"), V2, "/box", Some(("/cg", "/cg"))),
            (&mount("/box", "/cg"), V2, "/box/in/it", Some(("/cg", "/cg/in/it"))),
            (&mount("/b\\040x", "/cg"), V2, "/b x/in", Some(("/cg", "/cg/in"))),
            (&mount("/box", "/cg"), V2, "/boxes", None),
            (&mount("/box", "/cg"), V2, "/", None),
            (&two, V2, "/a", Some(("/all", "/all/a"))),
            (&mount("/", "/cg"), V2, "/../../a", None),
            (&mount("/../..", "/cg"), V2, "/../../a", Some(("/cg", "/cg/a"))),
            (&mount("/..", "/cg"), V2, "/../../a", None),
            (&mount("/", "/cg\\1"), V2, "/", None),
            (&mount("/", "/cg\\999"), V2, "/", None),
            ("25 21 0:22 / /cg rw\n", V2, "/", None),
            (MOUNTS, V2, "/a", Some(("/sys/fs/cgroup", "/sys/fs/cgroup/a"))),
            ("", V2, "/", None),
        ] {
            let expected = expected.map(|(mount_point, folder)| Group {
                version,
                mount_point: mount_point.into(),
                folder: folder.into(),
            });
            assert_eq!(
                parse_cpu_mount(text.as_bytes(), version, cgroup.as_bytes()),
                expected,
                "{text}{cgroup}"
            );
        }
    }

    #[test]
    fn the_lowest_limit_counts_as_it_is_now() {
        let top = std::env::temp_dir().join(format!("gosched-cgroup-{}", std::process::id()));
        let mount_point = top.join("mount");
        fs::create_dir_all(top.join("mount/a/b")).unwrap();
        let open = |version, folder: &str| {
            open_cpu(&Group { version, mount_point: mount_point.clone(), folder: top.join(folder) })
        };
        let write = |file: &str, text: &str| fs::write(top.join(file), text).unwrap();

        write("cpu.max", "1 100000\n"); // above the mount point
        assert!(open(Version::V2, "mount/a/b").is_empty());
        write("mount/cpu.max", "it has another form\n");
        write("mount/a/cpu.max", "max 100000\n");
        write("mount/a/b/cpu.max", "max 100000\n");
        let limits = open(Version::V2, "mount/a/b");
        assert_eq!((limits.len(), read_cpu_limit(&limits)), (2, Some(f64::INFINITY)));
        write("mount/a/cpu.max", "250000 100000\n");
        assert_eq!(read_cpu_limit(&limits), Some(2.5));
        write("mount/a/b/cpu.max", "300000 100000\n");
        assert_eq!(read_cpu_limit(&limits), Some(2.5));
        write("mount/a/b/cpu.max", "50000 100000\n");
        assert_eq!(read_cpu_limit(&limits), Some(0.5));
        write("mount/a/b/cpu.max", "");
        assert_eq!(read_cpu_limit(&limits), None);

        assert!(open(Version::V1, "mount/a/b").is_empty());
        write("mount/a/b/cpu.cfs_quota_us", "-1\n");
        write("mount/a/b/cpu.cfs_period_us", "100000\n");
        let limits = open(Version::V1, "mount/a/b");
        assert_eq!((limits.len(), read_cpu_limit(&limits)), (1, Some(f64::INFINITY)));
        write("mount/a/b/cpu.cfs_quota_us", "350000\n");
        assert_eq!(read_cpu_limit(&limits), Some(3.5));
        fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn the_default_is_what_can_be_used() {
        let (procs, default) = (getproccount(0).unwrap(), default_gomaxprocs().unwrap());
        assert!((1..=procs).contains(&default), "{default} of {procs}");
    }
}
