"""For the reference of the site: doctests and equations of docstrings become blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"(^>>> .*?)(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"^\.\. math::[ \t]*(.*?)(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def fenced(text: str) -> str:
    r"""A docstring as Markdown.

    >>> print(fenced("Adds.\n\n>>> add(1, 2)\n3"))
    Adds.
    <BLANKLINE>
    ```python
    >>> add(1, 2)
    3
    ```
    """
    text = MATH.sub(lambda m: f"```text\n{m[1].strip()}\n```", text)
    return DOCTEST.sub(lambda m: f"```python\n{m[1].rstrip()}\n```", text)


class DocstringFences(griffe.Extension):
    """Rewrites every docstring once it has been loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
