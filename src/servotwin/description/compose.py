"""From the tree of one file to the finished tree: extends, include, choose, overrides, expressions.

Order: files are merged along ``extends``; variables take their overrides;
``include`` and ``choose`` are expanded in every mapping; the other overrides
are set; expressions are evaluated; empty keys fall away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from servotwin.description.expressions import truth
from servotwin.description.nodes import (
    MAX_DEPTH,
    MAX_NODES,
    Node,
    Origin,
    fold_value,
    join,
    quoted,
    read_yaml,
)
from servotwin.description.overrides import Override, Time, parse_overrides, says_true, set_override
from servotwin.description.reach import Reach
from servotwin.description.regular_file import is_there
from servotwin.description.scope import Scope, is_expression
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError

Find = Callable[[str], Path]
SUFFIXES = (".yaml", ".yml", ".urdf")
MAX_EXTENDS = 20


def resolve(
    node: Node,
    overrides: Mapping[str, str | None] | None = None,
    find: Find | None = None,
    files: Files | None = None,
    keep_empty: tuple[str, ...] = (),
) -> Node:
    """The finished tree of ``node``; ``find`` gives the path of a catalogue name.

    Below the paths ``keep_empty`` empty keys stay: they are changes of another file, from which they remove something.
    """
    files = files or Files(find, reach=Reach.of(node.origin.file))
    settings = parse_overrides(overrides or {})
    tree = _extended(node, files, [Path(node.origin.file)])
    if not isinstance(tree.value, dict):
        raise node.error("expected a mapping with the fields of a robot")
    for time in (Time.REPLACE, Time.INCLUDE):
        for setting in settings:
            if setting.time is time:
                tree = set_override(tree, setting)
    variables = _variables(tree, files, [s for s in settings if s.time is Time.VARIABLE])
    scope = Scope(variables)
    body = {key: child for key, child in tree.children() if key != "variables"}
    tree = Expander(files, scope).expand(Node(body, tree.origin))
    for setting in settings:
        if setting.time is Time.VALUE:
            tree = set_override(tree, setting)
    tree = _evaluated(tree, scope, "", keep_empty)
    if isinstance(tree.value, dict) and isinstance(variables.value, dict) and variables.value:
        tree.value["variables"] = scope.finished()
    return tree


class Files:
    """The files that a composition reads; each is read once."""

    def __init__(
        self,
        find: Find | None = None,
        *,
        reach: Reach | None = None,
        density: float | None = None,
        allow_code: Mapping[str, str] | None = None,
    ) -> None:
        self.find, self.reach = find, reach
        self.trees: dict[Path, Node] = {}
        # where a file was looked for first; one that appears there is another answer
        self.absent: list[Path] = []
        self.density, self.allow_code = density, allow_code  # for URDF files, see ``import_urdf``
        self.notes: list[str] = []
        self.warnings: list[str] = []

    @property
    def dependencies(self) -> tuple[Path, ...]:
        """The paths read so far, in order."""
        return tuple(self.trees)

    def read(self, path: Path) -> Node:
        """The tree of a YAML or URDF file."""
        if path not in self.trees:
            if path.suffix.lower() in (".urdf", ".xacro"):
                from servotwin.description.urdf import import_urdf

                found = import_urdf(path, density=self.density, allow_code=self.allow_code, reach=self.reach)
                self.trees[path] = found.tree
                self.notes += found.notes
                self.warnings += found.warnings
            else:
                self.trees[path] = read_yaml(path)
        return self.trees[path]

    def locate(self, name: str, node: Node, field: str) -> Path:
        """The file called ``name`` in ``node``: beside its file, or in the catalogue.

        A file can name only what lies within reach; the user may name any file in an override, which has no line.
        """
        in_file = node.origin.line > 0
        try:
            if name.endswith(SUFFIXES):
                path = Path(node.origin.file).parent / name if in_file else Path(name)
                reach = self.reach or Reach.of(node.origin.file)
                problem = reach.problem(path, name) if in_file else None
                if problem is not None:
                    raise InputError(problem)
                if is_there(path):
                    return path
                self.absent.append(path)
            if self.find is not None:
                return self.find(name)
        except InputError as error:
            raise node.error(error.message, field) from None
        except (OSError, ValueError):
            pass  # a name that no file can have
        expected = "a file beside this one or a catalogue name"
        raise node.error(f"no file {quoted(name)}; expected {expected}", field)


# --- extends ---------------------------------------------------------------------------------------


def _extended(node: Node, files: Files, trail: list[Path]) -> Node:
    """``node`` merged over the file it extends, and that over the one it extends."""
    if not isinstance(node.value, dict) or "extends" not in node.value:
        return node
    named = node.value["extends"]
    own = Node({key: child for key, child in node.value.items() if key != "extends"}, node.origin)
    if named.value is None:
        return own
    if not isinstance(named.value, str):
        raise named.error("expected a catalogue name or a file such as 'base.yaml'", "extends")
    path = files.locate(named.value.strip(), named, "extends")
    if any(_same(path, seen) for seen in trail):
        raise named.error(f"a cycle: {quoted(named.value)} extends this file in the end", "extends")
    if len(trail) > MAX_EXTENDS:
        raise named.error(f"more than {MAX_EXTENDS} files extend each other", "extends")
    base = _extended(files.read(path), files, [*trail, path])
    if not isinstance(base.value, dict):
        raise base.error("expected a mapping with the fields of a robot")
    return merged(base, own)


def _same(a: Path, b: Path) -> bool:
    try:
        return a.resolve() == b.resolve()
    except (OSError, RuntimeError, ValueError):
        return a == b


def merged(base: Node, own: Node, path: str = "") -> Node:
    """``own`` over ``base``: mappings merge key by key, an empty key deletes, anything else replaces.

    A mapping with ``replace: true`` takes nothing over.
    """
    if not isinstance(base.value, dict) or replaces(own):
        return own
    if isinstance(own.value, str) and path.startswith("variables.") and "text" in base.value:
        return Node({**base.value, "text": own}, own.origin)  # a plain text keeps the choices
    if not isinstance(own.value, dict):
        return own
    result = dict(base.value)
    for key, child in own.value.items():
        if child.value is None and key in result and result[key].value is not None:
            del result[key]
        elif key in result:
            result[key] = merged(result[key], child, join(path, key))
        else:
            result[key] = child
    return Node(result, own.origin)


def replaces(node: Node) -> bool:
    """Whether a mapping says ``replace: true``: nothing of what it stands over is inherited."""
    return isinstance(node.value, dict) and says_true(node.value.get("replace"))


# --- include and choose ----------------------------------------------------------------------------


class Expander:
    """Replaces ``include`` and ``choose`` in every mapping of a tree."""

    def __init__(self, files: Files, scope: Scope) -> None:
        self.files = files
        self.scope = scope
        self.count = 0

    def expand(self, node: Node, path: str = "", trail: tuple[str, ...] = ()) -> Node:
        """``node`` with everything below it expanded; ``trail`` holds the parts being included."""
        self.count += 1
        if self.count > MAX_NODES:
            raise node.error(f"more than {MAX_NODES} values after its parts are included", path)
        if path.count(".") > MAX_DEPTH:
            raise node.error(f"nested deeper than {MAX_DEPTH} levels", path)
        if isinstance(node.value, list):
            items = [self.expand(item, join(path, str(i)), trail) for i, item in enumerate(node.value)]
            return Node(items, node.origin)
        if not isinstance(node.value, dict):
            return node
        mapping = dict(_items(node))
        if replaces(node):  # done when the files were merged
            mapping.pop("replace")
            node = Node(mapping, node.origin)
        if "include" in mapping:
            node = self._included(node, path, trail)
        if isinstance(node.value, dict) and "choose" in node.value:
            return self.expand(self._chosen(node, path), path, trail)
        children = {key: self.expand(child, join(path, key), trail) for key, child in _items(node)}
        return fold_value(Node(children, node.origin))

    def _included(self, node: Node, path: str, trail: tuple[str, ...]) -> Node:
        """The part that ``node`` includes, with the keys of ``node`` over it."""
        mapping = dict(_items(node))
        named = mapping.pop("include")
        rest = Node(mapping, node.origin)
        field = join(path, "include")
        if named.value is None:
            return rest
        if not isinstance(named.value, str):
            raise named.error("expected 'file#entry', such as 'motors.yaml#maker-200w'", field)
        part, key = self._part(named, field)
        if key in trail:
            raise named.error(f"a cycle: {quoted(named.value)} includes itself in the end", field)
        if len(trail) >= MAX_EXTENDS:
            raise named.error(f"more than {MAX_EXTENDS} parts include each other", field)
        expanded = self.expand(part, path, (*trail, key))
        if not isinstance(expanded.value, dict):
            raise named.error(f"{quoted(named.value)} is not a mapping; only mappings can be included", field)
        # expanding what stands here first keeps its own `choose` apart from that of the part
        return merged(_attributed(expanded, node.origin), rest, path)

    def _part(self, named: Node, field: str) -> tuple[Node, str]:
        """The node that ``file#entry`` names, and a key that identifies it."""
        file, _, entry = str(named.value).strip().partition("#")
        path = self.files.locate(file.strip(), named, field) if file else Path(named.origin.file)
        part = self.files.read(path)
        whole = dict(_items(part))
        for name in [entry] if entry in whole else entry.split(".") if entry else ():
            names = dict(_items(part))
            if name not in names:
                hint = did_you_mean(name, list(names))
                raise named.error(f"{path.name} has no entry {quoted(entry)}{hint}", field)
            part = names[name]
        return part, f"{path.resolve()}#{entry}"

    def _chosen(self, node: Node, path: str) -> Node:
        """``node`` with the first branch of its ``choose`` that holds merged over it."""
        mapping = dict(_items(node))
        branches = mapping.pop("choose")
        rest = Node(mapping, node.origin)
        field = join(path, "choose")
        if branches.value is None:
            return rest
        if not isinstance(branches.value, list):
            raise branches.error("expected a list of {when: = condition, then: {...}}", field)
        for i, branch in enumerate(branches.value):
            then = self._branch(branch, join(field, str(i)))
            if then is not None:
                if mapping and not isinstance(then.value, dict):
                    raise then.error("expected a mapping, as there are other keys", join(field, str(i)))
                return merged(rest, then, path)
        return rest

    def _branch(self, branch: Node, field: str) -> Node | None:
        """What the branch contributes; None if its condition does not hold."""
        entries = dict(_items(branch))
        if entries.keys() == {"otherwise"}:
            return _or_empty(entries["otherwise"])
        if entries.keys() != {"when", "then"}:
            raise branch.error("expected {when: = condition, then: {...}} or {otherwise: {...}}", field)
        value = self.scope.value(entries["when"], join(field, "when"))
        try:
            holds = truth(value)
        except ValueError as error:
            raise entries["when"].error(str(error), join(field, "when")) from None
        return _or_empty(entries["then"]) if holds else None


def _items(node: Node) -> list[tuple[str, Node]]:
    return list(node.value.items()) if isinstance(node.value, dict) else []


def _or_empty(node: Node) -> Node:
    return Node({}, node.origin) if node.value is None else node


def _attributed(node: Node, origin: Origin) -> Node:
    """``node`` with the source of the including mapping where it has none of its own."""
    own = node.origin
    if not own.source and not own.assumed:
        own = replace(own, source=origin.source, assumed=origin.assumed)
    if isinstance(node.value, dict):
        return Node({key: _attributed(child, origin) for key, child in node.value.items()}, own)
    if isinstance(node.value, list):
        return Node([_attributed(child, origin) for child in node.value], own)
    return Node(node.value, own)


# --- variables and expressions ---------------------------------------------------------------------


def _variables(tree: Node, files: Files, settings: list[Override]) -> Node:
    """The ``variables`` mapping, expanded, overrides on top."""
    node = dict(_items(tree)).get("variables", Node({}, tree.origin))
    if node.value is None:
        node = Node({}, node.origin)
    if not isinstance(node.value, dict):
        raise node.error("expected a mapping of names and values", "variables")
    if "include" in node.value or "choose" in node.value:
        # a condition among the variables sees those that stand outside of it, as overridden
        outside = {key: child for key, child in node.value.items() if key not in ("include", "choose")}
        known = [s for s in settings if s.path[1:2] and s.path[1] in outside]
        scope = Scope(_overridden(Node(outside, node.origin), known))
        node = Expander(files, scope).expand(node, "variables")
    node = _overridden(node, settings)
    return Node({key: child for key, child in _items(node) if child.value is not None}, node.origin)


def _overridden(variables: Node, settings: list[Override]) -> Node:
    holder = Node({"variables": variables}, variables.origin)
    for setting in settings:
        holder = set_override(holder, setting)
    return dict(_items(holder))["variables"]


def _evaluated(node: Node, scope: Scope, path: str, keep_empty: tuple[str, ...] = ()) -> Node:
    """``node`` with its expressions replaced by their values and empty keys dropped, but below ``keep_empty``."""
    if isinstance(node.value, dict):
        kept = any(path == each or path.startswith(f"{each}.") for each in keep_empty)
        children = {k: c for k, c in node.value.items() if kept or c.value is not None}
        found = {k: _evaluated(c, scope, join(path, k), keep_empty) for k, c in children.items()}
        return Node(found, node.origin)
    if isinstance(node.value, list):
        items = [_evaluated(c, scope, join(path, str(i)), keep_empty) for i, c in enumerate(node.value)]
        return Node(items, node.origin)
    if is_expression(node):
        return scope.evaluated(node, path)
    return node
