//! The goroutines, by groups of equal stacks: searched, sorted and in pages.
//!
//! A look at all goroutines is kept, so that the pages of one list fit together, until the page
//! asks for a new one or is closed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::inspect::http::{Answer, Request};
use crate::inspect::json::Json;
use crate::runtime::{Created, Group, Member, goroutine_stacks};
use crate::sync::Mutex;

/// How long one look is kept at least.
const MIN_AGE: Duration = Duration::from_millis(500);

/// The most groups, and goroutines of a group, of a page.
const GROUPS: usize = 50;
const MEMBERS: usize = 100;

/// The most characters of a text to search for.
const SEARCH: usize = 200;

/// The last look at all goroutines.
#[derive(Default)]
pub(super) struct Goroutines(Mutex<Option<Arc<Look>>>);

/// All goroutines, as they were found at a time.
struct Look {
    /// A number, by which a page says which look it shows.
    number: u64,
    taken: Instant,
    groups: Vec<Shown>,
}

/// A group, with names of functions.
struct Shown {
    group: Group,
    frames: Vec<Frame>,
    /// The place or the function that made them; empty if it isn't known.
    created_at: String,
    /// What a search finds, in lower case: state, functions, files, place.
    text: String,
}

struct Frame {
    function: String,
    file: String,
    line: u32,
}

impl Goroutines {
    /// Forgets the last look.
    pub(super) fn forget(&self) {
        *self.0.lock() = None;
    }

    /// Returns the last look, or takes a new one if there is none, or if `fresh` and the last isn't
    /// new. Others wait meanwhile, and share it.
    fn look(&self, fresh: bool) -> Arc<Look> {
        let mut last = self.0.lock();
        if let Some(look) = &*last
            && (!fresh || look.taken.elapsed() < MIN_AGE)
        {
            return look.clone();
        }
        // The old one's memory goes first.
        let number = last.take().map_or(0, |look| look.number) + 1;
        let look = Arc::new(Look { number, taken: Instant::now(), groups: shown_groups() });
        *last = Some(look.clone());
        look
    }

    /// Returns the look that a request is about; as an error, the answer if that is gone.
    fn look_of(&self, request: &Request) -> Result<Arc<Look>, Answer> {
        let look = self.0.lock().clone();
        let wanted = request.number("look");
        look.filter(|look| Some(look.number) == wanted)
            .ok_or_else(|| Answer::error("410 Gone", "there is a newer list of goroutines"))
    }

    /// Answers a request for a page of groups: `q`, `sort`, `page`, `system`, `fresh`.
    pub(super) fn list(&self, request: &Request) -> Answer {
        let search = Search::of(request);
        let look = self.look(request.asked("fresh") == "1");
        let with_system = request.asked("system") == "1";
        let listed =
            look.groups.iter().enumerate().filter(|(_, shown)| with_system || !shown.group.is_system());
        let total: usize = listed.clone().map(|(_, shown)| shown.group.goroutines.len()).sum();
        let mut found: Vec<(usize, &Shown, usize)> = listed
            .map(|(i, shown)| (i, shown, search.count(shown)))
            .filter(|(.., count)| *count > 0)
            .collect();
        match request.asked("sort") {
            "age" => found.sort_by_key(|(_, shown, _)| std::cmp::Reverse(shown.longest())),
            _ => found.sort_by_key(|(.., count)| std::cmp::Reverse(*count)),
        }
        let (page, pages) = page_of(request, found.len(), GROUPS);
        Answer::json(Json::of_object(|json| {
            json.key("look").integer(look.number);
            json.key("age").number(look.taken.elapsed().as_secs_f64());
            json.key("total").integer(total);
            json.key("found").integer(found.iter().map(|(.., count)| count).sum::<usize>());
            json.key("groups").integer(found.len());
            json.key("page").integer(page);
            json.key("pages").integer(pages);
            json.key("items").array(|json| {
                for (i, shown, count) in found.iter().skip(page * GROUPS).take(GROUPS) {
                    json.object(|json| shown.write(json, *i, *count));
                }
            });
        }))
    }

    /// Answers a request for a page of a group's goroutines: `look`, `id`, `q`, `page`.
    pub(super) fn group(&self, request: &Request) -> Answer {
        let look = match self.look_of(request) {
            Ok(look) => look,
            Err(gone) => return gone,
        };
        let search = Search::of(request);
        let shown = request.number("id").and_then(|id| look.groups.get(usize::try_from(id).ok()?));
        let Some(shown) = shown else { return Answer::error("404 Not Found", "there is no such group") };
        let found: Vec<&Member> = search.members(shown).collect();
        let (page, pages) = page_of(request, found.len(), MEMBERS);
        Answer::json(Json::of_object(|json| {
            json.key("page").integer(page);
            json.key("pages").integer(pages);
            json.key("items").array(|json| {
                for member in found.iter().skip(page * MEMBERS).take(MEMBERS) {
                    json.object(|json| write_member(json, member));
                }
            });
        }))
    }

    /// Answers a request for one goroutine, by its number: `id`.
    pub(super) fn one(&self, request: &Request) -> Answer {
        let look = self.look(false);
        let found = look.groups.iter().enumerate().find_map(|(i, shown)| {
            let member =
                shown.group.goroutines.iter().find(|member| Some(member.goid) == request.number("id"));
            member.map(|member| (i, shown, member))
        });
        let Some((i, shown, member)) = found else {
            return Answer::error("404 Not Found", "there is no such goroutine");
        };
        Answer::json(Json::of_object(|json| {
            json.key("look").integer(look.number);
            json.key("group").object(|json| shown.write(json, i, shown.group.goroutines.len()));
            json.key("goroutine").object(|json| write_member(json, member));
        }))
    }
}

/// Returns the number of the wanted page, from 0 on, and how many pages there are, at least one.
fn page_of(request: &Request, len: usize, per_page: usize) -> (usize, usize) {
    let pages = len.div_ceil(per_page).max(1);
    let page = usize::try_from(request.number("page").unwrap_or(0)).unwrap_or(usize::MAX);
    (page.min(pages - 1), pages)
}

/// Looks at all goroutines.
fn shown_groups() -> Vec<Shown> {
    let stacks = goroutine_stacks();
    let described: Vec<(Vec<Frame>, String)> = stacks
        .groups
        .iter()
        .map(|group| {
            let frames = stacks.frames(group).map(|symbol| Frame {
                function: symbol.function.clone(),
                file: symbol.file.clone(),
                line: symbol.line,
            });
            let created_at = match stacks.created(group) {
                Created::At(place) => place.to_string(),
                Created::By(symbol) => format!("{} {}:{}", symbol.function, symbol.file, symbol.line),
                Created::Unknown => String::new(),
            };
            (frames.collect(), created_at)
        })
        .collect();
    stacks
        .groups
        .into_iter()
        .zip(described)
        .map(|(group, (frames, at))| Shown::new(group, frames, at))
        .collect()
}

impl Shown {
    fn new(group: Group, frames: Vec<Frame>, created_at: String) -> Shown {
        let mut text = format!("{}\n{created_at}", group.what());
        for Frame { function, file, line } in &frames {
            text.push_str(&format!("\n{function}\n{file}:{line}"));
        }
        Shown { group, frames, created_at, text: text.to_lowercase() }
    }

    fn longest(&self) -> Option<Duration> {
        self.group.goroutines.iter().filter_map(|member| member.waited).max()
    }

    /// Writes the members of a JSON object: the group with the number `id`, of which `count`
    /// goroutines were found.
    fn write(&self, json: &mut Json, id: usize, count: usize) {
        let group = &self.group;
        let shortest = group.goroutines.iter().filter_map(|member| member.waited).min();
        json.key("id").integer(id);
        json.key("count").integer(count);
        json.key("state").string(group.what());
        json.key("system").bool(group.is_system());
        json.key("locked").bool(group.is_locked());
        json.key("name").option(group.name(), |json, name| json.string(name.as_str()));
        json.key("labels").array(|json| write_labels(json, group.labels()));
        json.key("longest").option(self.longest(), |json, time| json.number(time.as_secs_f64()));
        json.key("shortest").option(shortest, |json, time| json.number(time.as_secs_f64()));
        json.key("created").string(&self.created_at);
        json.key("frames").array(|json| {
            for frame in &self.frames {
                json.array(|json| {
                    json.string(&frame.function);
                    json.string(&frame.file);
                    json.integer(frame.line);
                });
            }
        });
    }
}

fn write_member(json: &mut Json, member: &Member) {
    json.key("id").integer(member.goid);
    json.key("name").string(member.name.as_str());
    json.key("waited").option(member.waited, |json, time| json.number(time.as_secs_f64()));
    let labels = member.labels.as_deref().into_iter().flatten();
    json.key("labels").array(|json| write_labels(json, labels.map(|(key, value)| (&**key, &**value))));
    json.key("parent").integer(member.parent);
}

fn write_labels<'a>(json: &mut Json, labels: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (key, value) in labels {
        json.array(|json| {
            json.string(key);
            json.string(value);
        });
    }
}

/// What to search for.
enum Search {
    /// The goroutine with this number.
    Number(u64),
    /// Goroutines whose state, functions, files, name or labels have this text, which is in lower
    /// case. An empty one finds all.
    Text(String),
}

impl Search {
    fn of(request: &Request) -> Search {
        let text: String = request.asked("q").trim().chars().take(SEARCH).collect();
        text.parse().map_or_else(|_| Search::Text(text.to_lowercase()), Search::Number)
    }

    /// Returns how many goroutines of a group are found.
    fn count(&self, shown: &Shown) -> usize {
        if self.finds_all(shown) { shown.group.goroutines.len() } else { self.members(shown).count() }
    }

    fn finds_all(&self, shown: &Shown) -> bool {
        matches!(self, Search::Text(text) if shown.text.contains(text))
    }

    /// Returns the goroutines of a group that are found.
    fn members<'a>(&'a self, shown: &'a Shown) -> impl Iterator<Item = &'a Member> {
        let all = self.finds_all(shown);
        shown.group.goroutines.iter().filter(move |member| all || self.finds(member))
    }

    fn finds(&self, member: &Member) -> bool {
        match self {
            Search::Number(number) => *number == member.goid,
            Search::Text(text) => {
                let mut labels = member.labels.as_deref().into_iter().flatten();
                member.name.as_str().to_lowercase().contains(text)
                    || labels.any(|(key, value)| format!("{key}={value}").to_lowercase().contains(text))
            }
        }
    }
}
