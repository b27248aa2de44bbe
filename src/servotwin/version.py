"""The version of the package, for pages that name it and import nothing else of it."""

__version__ = "0.1.0"
