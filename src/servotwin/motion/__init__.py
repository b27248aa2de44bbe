"""Where the axes shall be at every instant.

``profiles`` and ``point_moves`` plan the moves of scenarios. Jobs are planned by ``planner.plan`` from the
``requests`` MoveJ, MoveL, MoveC, Spline and Rest within the ``limits`` of a robot; the result is a
``trajectory``. Below it:

    requests -> legs (curves -> follow -> joint_path) -> blends -> laws (ramps) -> demands -> trajectory

``time_optimal`` finds the quickest motion along a path under joint torques, ``online`` replans from any state.
"""
