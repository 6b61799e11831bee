// A thread-local of the C++ library records which exceptions a thread has caught and not yet left,
// and how many are being thrown. `pause` may continue on another thread.
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

// Returns `n` if all exceptions arrive, and otherwise another number.
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
