"""Planning of motion: positions, velocities and accelerations of the joints over time.

``point_moves`` plans the moves of scenarios, with the ramps of ``ramps`` or the laws of ``joint_moves``.
``planner.plan`` plans jobs from the ``requests`` MoveJ, MoveL, MoveC, Spline and Rest within the ``limits`` of a
robot; the result is a ``trajectory``. Its steps:

    requests -> legs (curves -> follow -> joint_path) -> blends -> laws (ramps) -> demands -> trajectory

A MOVEJ that only the limits of the joints bound goes straight from its request to its law (``joint_moves.quick_move``).

``time_optimal`` finds the quickest motion along a path under joint torques, ``online`` replans from any state.
"""
