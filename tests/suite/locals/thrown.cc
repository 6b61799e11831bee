// Which exceptions a thread has caught and not yet left, and how many are on their way, is in a thread-local of the
// C++ library. `pause` may go on on another thread.
#include <exception>

namespace {
struct Pauses {
    void (*pause)();
    int *on_their_way;
    ~Pauses() {
        pause();
        *on_their_way += std::uncaught_exceptions();
        pause();
    }
};

void rethrow(void (*pause)()) {
    pause();
    throw; // the innermost that this thread has caught
}
} // namespace

// Returns `n`, if all that is thrown arrives, and else another number.
extern "C" int thrown(int n, void (*pause)()) {
    int on_their_way = 0, wrong = 0;
    try {
        try {
            Pauses outer{pause, &on_their_way};
            try {
                Pauses inner{pause, &on_their_way};
                throw n;
            } catch (int outer_one) {
                pause();
                try {
                    throw n + 1;
                } catch (int inner_one) {
                    pause();
                    wrong += inner_one != n + 1;
                }
                wrong += outer_one != n;
                rethrow(pause);
            }
        } catch (int caught) {
            pause();
            wrong += caught != n;
            throw static_cast<long>(caught);
        }
    } catch (long last) {
        pause();
        wrong += std::uncaught_exceptions() != 0 || on_their_way != 2;
        return wrong == 0 ? static_cast<int>(last) : -1;
    }
    return -1;
}
