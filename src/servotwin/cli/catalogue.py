"""``servotwin robots``."""

from __future__ import annotations

from servotwin.cli.output import print_json, print_table, working


def robots(*, json: bool) -> None:
    """Print name, number of coordinates and title of every robot of the catalogue."""
    with working("reading the catalogue"):
        from servotwin.description.load import catalogue_names
        from servotwin.robot.load import load_checked

        loaded = [load_checked(name, {}) for name in catalogue_names()]
    if json:
        print_json(
            [
                {"name": m.name, "dof": m.n_q, "joints": list(m.joint_names), "title": title}
                for m, title, _ in loaded
            ]
        )
        return
    rows = [(m.name, str(m.n_q), ", ".join(m.joint_names), title) for m, title, _ in loaded]
    print_table(("name", "dof", "joints", "title"), rows, text_columns=4)
