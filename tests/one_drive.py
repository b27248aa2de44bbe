"""One drive with an ideal axis in lock-step, for tests of its states and modes."""

from __future__ import annotations

from small_bus import SmallBus

DISABLED, READY, ON, ENABLED, QUICK, REACTION, FAULT = range(2, 9)
SHUTDOWN, SWITCH_ON, ENABLE, NO_VOLTAGE, QUICK_STOP, RESET = 0x06, 0x07, 0x0F, 0x00, 0x02, 0x80
CSP = 8
TURN = 1 << 20


class OneDrive(SmallBus):
    """One axis in OP; ``cycle`` gives its state."""

    def __init__(self) -> None:
        super().__init__()
        self.to_op()
        self.mode, self.target = CSP, (0, 0, 0)
        self.objects = self.drives.objects[0]
        self.cycle(0, 2)

    def cycle(self, word: int, times: int = 1) -> int:
        for _ in range(times):
            self.inputs = self.exchange([(word, self.mode, *self.target)])[0]
        return int(self.drives.drives["state"][0])

    def enable(self) -> None:
        self.target = (self.inputs[2], 0, 0)
        for word in (SHUTDOWN, SWITCH_ON, ENABLE):
            self.cycle(word)
        assert self.drives.drives["state"][0] == ENABLED

    def bring_to(self, state: int) -> None:
        """By a way that the standard gives; a quick stop stays where it is."""
        if state == FAULT:
            self.plant.context["fault"][0, 0] = 0x2310
            self.cycle(0, 3)
            self.plant.context["fault"][0, 0] = 0
            self.cycle(0)
        elif state == READY:
            self.cycle(SHUTDOWN)
        elif state == ON:
            self.cycle(SHUTDOWN)
            self.cycle(SWITCH_ON)
        elif state >= ENABLED:
            self.enable()
        if state == QUICK:
            self.objects["quick_stop_option"] = 6
            self.cycle(QUICK_STOP)
        assert self.drives.drives["state"][0] == state

    def fault(self, code: int) -> None:
        self.plant.context["fault"][0, 0] = code
