//! Tables and names in documents.

/// Returns the rows of the tables in some lines, without the tables' own headings.
pub fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in lines.filter_map(|line| line.strip_prefix('|')) {
        let cells: Vec<String> =
            line.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        if cells[0].starts_with("---") {
            rows.pop(); // the heading above this line
        } else {
            rows.push(cells);
        }
    }
    rows
}

/// Returns the names in backquotes.
pub fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the targets of the links in a text.
pub fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}
