"""A simulated run against a measured one."""
