//! What programs say: tasks, regions, logs, labels; and a stopped world.

use super::super::event::What;
use super::super::kinds::Kind;
use super::{Next, Order, Step};

impl Order {
    pub(super) fn note(&mut self, step: &Step<'_>) -> Next {
        step.p_and_g()?;
        let [a, b, c, d] = step.raw.args;
        let string = |id| step.generation.string(id);
        let (what, stack) = match step.raw.kind {
            Kind::ProcsChange => (What::Procs(a), b),
            Kind::GoLabel => (What::Label(string(a)?), 0),
            _ => (What::Log { task: a, category: string(b)?, message: string(c)? }, d),
        };
        self.tell(step, step.at, what, stack)?;
        Ok(Some(step.at))
    }

    pub(super) fn world(&mut self, step: &Step<'_>) -> Next {
        let (_, g) = step.p_and_g()?;
        let [kind, stack, ..] = step.raw.args;
        let begins = step.raw.kind == Kind::STWBegin;
        let goroutine = self.goroutine(g)?;
        if goroutine.stops_the_world == begins {
            return Err(format!("goroutine {g} stops the world, or starts it, twice"));
        }
        goroutine.stops_the_world = begins;
        let what = if begins { What::StwBegin(step.generation.string(kind)?) } else { What::StwEnd };
        self.tell(step, step.at, what, stack)?;
        Ok(Some(step.at))
    }

    pub(super) fn task(&mut self, step: &Step<'_>) -> Next {
        step.p_and_g()?;
        let (what, stack) = if step.raw.kind == Kind::UserTaskBegin {
            let [task, parent, name, stack] = step.raw.args;
            let name = step.generation.string(name)?;
            if self.tasks.insert(task, name.clone()).is_some() {
                return Err(format!("task {task} begins twice"));
            }
            (What::TaskBegin { task, parent, name }, stack)
        } else {
            let [task, stack, ..] = step.raw.args;
            (What::TaskEnd { task, name: self.tasks.remove(&task) }, stack)
        };
        self.tell(step, step.at, what, stack)?;
        Ok(Some(step.at))
    }

    /// Regions nest, on their goroutine.
    pub(super) fn region(&mut self, step: &Step<'_>) -> Next {
        let (_, g) = step.p_and_g()?;
        let [task, name, stack, _] = step.raw.args;
        let name = step.generation.string(name)?;
        let regions = &mut self.goroutine(g)?.regions;
        let what = if step.raw.kind == Kind::UserRegionBegin {
            regions.push((task, name.clone()));
            What::RegionBegin { task, name }
        } else {
            // One that began before the trace did isn't known.
            if regions.pop().is_some_and(|innermost| innermost != (task, name.clone())) {
                return Err(format!("the innermost region is another than {name} of task {task}"));
            }
            What::RegionEnd { task, name }
        };
        self.tell(step, step.at, what, stack)?;
        Ok(Some(step.at))
    }
}
