#!/usr/bin/env python3
"""Lists the public items of std, crossbeam-channel, tokio and Go that the guide's page on other
libraries compares with this crate's: tests/mirror/tables/items-of-others.tsv.

    tools/items-of-others.py STD CARGO GO X_SYNC X_TIME > tests/mirror/tables/items-of-others.tsv

STD is the folder `share/doc/rust/html` of a toolchain. CARGO is the folder that `cargo doc` writes
for a package that depends on crossbeam-channel and on tokio with its feature `full`. GO is a source
tree of Go. X_SYNC and X_TIME are checkouts of golang.org/x/sync and golang.org/x/time. Items that
are unstable, deprecated or hidden aren't listed, nor are methods of traits that a type implements.
"""

import html
import pathlib
import re
import sys

ITEM = re.compile(r"(struct|enum|trait|fn|macro|union)\.(\w+)\.html")
METHOD = re.compile(r'<section id="(?:ty)?method\.(\w+)" class="method')


def unstable(text):
    return "stab unstable" in text or "stab deprecated" in text


def methods(page, kind):
    """The methods of a type's own, or of a trait."""
    begin = page.find('id="implementations"' if kind != "trait" else "trait-items")
    required = page.find('id="required-methods"')
    if kind == "trait":
        begin = required if required >= 0 else page.find('id="provided-methods"')
    if begin < 0:
        return
    ends = ("deref-methods", "trait-implementations", "synthetic-implementations", "implementors",
            "foreign-impls", "dyn-compatibility", "object-safety")
    ends = [page.find(f'id="{end}', begin) for end in ends]
    part = page[begin : min([end for end in ends if end > 0], default=len(page))]
    found = list(METHOD.finditer(part))
    for i, method in enumerate(found):
        end = found[i + 1].start() if i + 1 < len(found) else len(part)
        head = part[method.start() : end].split('<div class="docblock', 1)[0]
        if not unstable(head):
            yield method[1]


def rust(root, library, module):
    """The items of a module, without those of modules in it."""
    for path in sorted(pathlib.Path(root, *module.split("::")).glob("*.html")):
        match = ITEM.fullmatch(path.name)
        if not match:
            continue
        kind, name = match[1], match[2]
        page = path.read_text()
        main = page.split('id="main-content"', 1)[1]
        if unstable(main.split('<div class="docblock', 1)[0].split('id="implementations"')[0]):
            continue
        title = name + ("!" if kind == "macro" else "")
        yield library, title
        for method in methods(main, kind) if kind not in ("fn", "macro") else ():
            yield library, f"{name}::{html.unescape(method)}"


def go(folder, library):
    """The exported functions, methods, types, constants and variables of a package."""
    items = set()
    for path in pathlib.Path(folder).glob("*.go"):
        if path.name.endswith("_test.go") or re.search(r"_(windows|plan9|js|wasip1|wasm)\.go", path.name):
            continue
        text = path.read_text()
        if "//go:build ignore" in text:
            continue
        items.update(re.findall(r"^func ([A-Z]\w*)", text, re.M))
        for receiver, name in re.findall(r"^func \(\w* ?\*?(\w+)(?:\[[^]]*\])?\) ([A-Z]\w*)\(", text, re.M):
            if receiver[0].isupper():
                items.add(f"{receiver}.{name}")
        items.update(re.findall(r"^type ([A-Z]\w*)", text, re.M))
        items.update(re.findall(r"^(?:var|const) ([A-Z]\w*)", text, re.M))
        for block in re.findall(r"^(?:var|const) \((.*?)^\)", text, re.M | re.S):
            items.update(re.findall(r"^\t([A-Z]\w*)", block, re.M))
        for name, body in re.findall(r"^type ([A-Z]\w*) interface \{(.*?)^\}", text, re.M | re.S):
            items.update(f"{name}.{method}" for method in re.findall(r"^\t([A-Z]\w*)\(", body, re.M))
        for name, body in re.findall(r"^type ([A-Z]\w*)(?:\[.*?\])? struct \{(.*?)^\}", text, re.M | re.S):
            items.update(f"{name}.{field}" for field in re.findall(r"^\t([A-Z]\w*) ", body, re.M))
    return ((library, item) for item in sorted(items))


def main(std, cargo, gosrc, x_sync, x_time):
    rows = []
    for module in ("sync", "sync::mpsc", "net", "process", "fs"):
        rows += rust(std, f"std::{module}", f"std::{module}")
    rows += rust(cargo, "crossbeam_channel", "crossbeam_channel")
    for module in ("sync", "sync::mpsc", "sync::oneshot", "sync::broadcast", "sync::watch", "time",
                   "task", "process", "signal", "signal::unix", "fs"):
        rows += rust(cargo, f"tokio::{module}", f"tokio::{module}")
    for package in ("sync", "context", "time"):
        rows += go(f"{gosrc}/src/{package}", f"Go's {package}")
    for package in ("errgroup", "semaphore", "singleflight", "syncmap"):
        rows += go(f"{x_sync}/{package}", f"golang.org/x/sync/{package}")
    rows += go(f"{x_time}/rate", "golang.org/x/time/rate")
    print("# Public items of other libraries: library, item. tools/items-of-others.py writes this.")
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
