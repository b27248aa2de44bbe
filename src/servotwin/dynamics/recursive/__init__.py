"""The generic recursive engine: rigid-body algorithms over arrays, linear in the number of joints.

One algorithm per file, with the names of R. Featherstone, *Rigid Body Dynamics
Algorithms*, Springer 2008 (RBDA). ``common.py`` states the conventions;
``engine.py`` is the numpy face. Numba is imported by the algorithm files only,
so import them where they are used::

    from servotwin.dynamics.recursive.tree_dynamics import RecursiveDynamics
"""
