"""``servotwin robots``."""

from __future__ import annotations

from servotwin.cli.output import print_json, print_table, working


def robots(*, json: bool) -> None:
    """Print name, number of coordinates and title of every robot of the catalogue."""
    with working("reading the catalogue"):
        from servotwin.workbench.listing import list_robots

        found = list_robots()
    if json:
        print_json(list(found))
        return
    rows = [(e["name"], str(e["dof"]), ", ".join(e["joints"]), e["title"]) for e in found]
    print_table(("name", "dof", "joints", "title"), rows, text_columns=4)
