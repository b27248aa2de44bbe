"""The loop of main controller and plant: one period after the other, at the pace of a clock, plans in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from servotwin.control.main.exchange import Command, Stretch
from servotwin.control.main.main_controller import MainController
from servotwin.simulation.clock import Clock, SimulatedClock
from servotwin.simulation.job_plant import Followed, FollowingPlant, Plant

Work = Callable[[], None]


def in_turn(work: Work) -> None:
    """Plan before the next period begins, however long it takes: right where time is simulated."""
    work()


class Beside:
    """Plan in a thread of its own while periods go on: right where time passes by itself."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planning")
        self._last: Future[None] | None = None
        # the thread begins now: later it would inherit the priority of a real-time caller
        self._pool.submit(int)

    def __call__(self, work: Work) -> None:
        """Begin with the work, unless the last one is still under way."""
        if self._last is None or self._last.done():
            self._last = self._pool.submit(work)

    def close(self) -> None:
        """End the thread when its work is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Stepper:
    """A main controller and what it acts on. ``step`` carries both over one period, from ``now_ns`` on.

    A period begins when the ``clock`` says so; what it may need is planned before, by ``planning``. ``well`` is False
    once the plant could not follow; ``planning_s`` was spent on plans in turn. ``follow_plan`` carries both over what
    the plan decides, period by period the same; it does nothing where time passes by itself.
    """

    def __init__(
        self,
        controller: MainController,
        plant: Plant,
        clock: Clock | None = None,
        planning: Callable[[Work], None] = in_turn,
        *,
        now_ns: int = 0,
    ) -> None:
        controller.plans_ahead = True
        self.controller, self.plant = controller, plant
        self.clock, self.planning = clock or SimulatedClock(), planning
        self.now_ns, self.well, self.planning_s = now_ns, True, 0.0
        at_once = isinstance(self.clock, SimulatedClock) and planning is in_turn
        self._follower = plant if at_once and isinstance(plant, FollowingPlant) else None
        self._followed: Followed | None = None  # a stretch that is under way, or that nobody was told of yet

    def step(self, note: Callable[[Command], None] | None = None) -> Command:
        """Plan, wait for the period to begin, measure, command, and let the plant go on to its end.

        ``note`` is given the command before the plant is, so that a Ctrl-C on the way does not lose it.
        """
        began = time.perf_counter()
        self.planning(self.controller.plan_ahead)
        self.planning_s += time.perf_counter() - began
        now, then = self.now_ns, self.now_ns + self.controller.period_ns
        self.clock.wait_until(now)
        command = self.controller.step(now, self.plant.feedback())
        if note is not None:
            note(command)
        self.well = self.plant.carry_on(command, now, then)
        self.now_ns = then
        return command

    def follow_plan(self, before_ns: int, note: Callable[[Stretch], None]) -> bool:
        """Carry on over periods that begin before an instant and that only a measurement could change.

        They are those of a planned motion or a wait; an alarm, and whatever else is not clear, is left to ``step``.
        Inputs and keys must not change up to then. ``note`` is given the commands that were carried out. Whether all
        were that lay ahead, so that it may be called again without a ``step`` in between. After a Ctrl-C call
        ``keep_stretch``.
        """
        plant, controller, T = self._follower, self.controller, self.controller.period_ns
        stretch = None if plant is None else controller.ahead(-((self.now_ns - before_ns) // T))
        if plant is None or stretch is None:
            return False
        self._followed = followed = Followed(stretch, self.now_ns)
        plant.follow(followed, controller.quick_watch, T)
        self._take(followed, note)
        return self.well and followed.count == len(stretch)

    def keep_stretch(self, note: Callable[[Stretch], None]) -> None:
        """After a Ctrl-C in ``follow_plan``: what the plant has done there is not lost, wherever the Ctrl-C came.

        ``note`` may be given commands that it was given last.
        """
        followed, plant = self._followed, self._follower
        if followed is not None and plant is not None:
            plant.count_done(followed, self.controller.period_ns)
            self._take(followed, note)

    def _take(self, followed: Followed, note: Callable[[Stretch], None]) -> None:
        """Tell of a stretch, and bring the controller to its end."""
        self.well = followed.well
        if followed.positions:
            note(followed.begun)
        self.now_ns = followed.now_ns + followed.count * self.controller.period_ns
        self._followed = None  # the controller must not go over it twice
        if followed.count:
            done = followed.stretch.first(followed.count)
            self.controller.skip(done, followed.positions[: followed.count][-2:])
