// The functions of the scheduler that package sync calls: Go's sema.go.

#include "libgo.h"

void Semacquire(uint32_t *sema) GO("sync.runtime__Semacquire");
void Semacquire(uint32_t *sema)
{
    gosched_semacquire(sema);
}

void SemacquireMutex(uint32_t *sema, bool lifo, integer skip) GO("sync.runtime__SemacquireMutex");
void SemacquireMutex(uint32_t *sema, bool lifo, integer skip)
{
    (void)skip;
    gosched_semacquire1(sema, lifo, GOSCHED_WAIT_REASON_MUTEX_LOCK);
}

void Semrelease(uint32_t *sema, bool handoff, integer skip) GO("sync.runtime__Semrelease");
void Semrelease(uint32_t *sema, bool handoff, integer skip)
{
    (void)skip;
    gosched_semrelease1(sema, handoff);
}

void poll_Semacquire(uint32_t *sema) GO("internal_1poll.runtime__Semacquire");
void poll_Semacquire(uint32_t *sema)
{
    Semacquire(sema);
}

void poll_Semrelease(uint32_t *sema) GO("internal_1poll.runtime__Semrelease");
void poll_Semrelease(uint32_t *sema)
{
    gosched_semrelease(sema);
}

// sync.Cond.
uint32_t notify_list_add(struct gosched_notify_list *list) GO("sync.runtime__notifyListAdd");
uint32_t notify_list_add(struct gosched_notify_list *list)
{
    return gosched_notify_list_add(list);
}

void notify_list_wait(struct gosched_notify_list *list, uint32_t ticket) GO("sync.runtime__notifyListWait");
void notify_list_wait(struct gosched_notify_list *list, uint32_t ticket)
{
    gosched_notify_list_wait(list, ticket);
}

void notify_list_notify_all(struct gosched_notify_list *list) GO("sync.runtime__notifyListNotifyAll");
void notify_list_notify_all(struct gosched_notify_list *list)
{
    gosched_notify_list_notify_all(list);
}

void notify_list_notify_one(struct gosched_notify_list *list) GO("sync.runtime__notifyListNotifyOne");
void notify_list_notify_one(struct gosched_notify_list *list)
{
    gosched_notify_list_notify_one(list);
}

void notify_list_check(uintptr_t size) GO("sync.runtime__notifyListCheck");
void notify_list_check(uintptr_t size)
{
    if (size < sizeof(struct gosched_notify_list))
        throw((struct string){ "bad notifyList size", 19 });
}

bool can_spin(integer i) GO("sync.runtime__canSpin");
bool can_spin(integer i)
{
    return gosched_can_spin(i);
}

void do_spin(void) GO("sync.runtime__doSpin");
void do_spin(void)
{
    gosched_do_spin();
}

integer sync_proc_pin(void) GO("sync.runtime__procPin");
integer sync_proc_pin(void)
{
    return gosched_proc_pin();
}

void sync_proc_unpin(void) GO("sync.runtime__procUnpin");
void sync_proc_unpin(void)
{
    gosched_proc_unpin();
}

integer atomic_proc_pin(void) GO("sync_1atomic.runtime__procPin");
integer atomic_proc_pin(void)
{
    return gosched_proc_pin();
}

void atomic_proc_unpin(void) GO("sync_1atomic.runtime__procUnpin");
void atomic_proc_unpin(void)
{
    gosched_proc_unpin();
}
