"""Pages and files of a server: all come from the package, by names that are known before the first request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.pendant.web.guard import NONCE, ROLE

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import Response
    from starlette.routing import Route

KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
}
NONCE_MARK = "{{nonce}}"


def nonce_of(request: HTTPConnection) -> str:
    """The number that scripts of this answer bear."""
    return str(request.scope[NONCE])


def role_of(connection: HTTPConnection) -> str:
    """The role that the token of a request or socket stands for."""
    return str(connection.scope[ROLE])


def html_page(request: HTTPConnection, text: str) -> Response:
    """A page whose scripts carry the mark ``{{nonce}}``: ``<script nonce="{{nonce}}" src="files/page.js">``."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(text.replace(NONCE_MARK, nonce_of(request)))


class Files:
    """Files by their names, in memory: no name of a request ever becomes a path."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    @classmethod
    def of(cls, folder: Path, *names: str, **made: str) -> Files:
        """Files of a folder of the package, and texts that are made (``**{"scene.js": text}``)."""
        read = {name: (folder / name).read_text(encoding="utf-8") for name in names}
        return cls({**read, **made})

    def route(self, path: str = "/files/{name}") -> Route:
        """The route of these files."""
        from starlette.routing import Route

        return Route(path, self.answer, methods=["GET"])

    async def answer(self, request: Request) -> Any:
        """A file, or 404."""
        from starlette.responses import PlainTextResponse, Response

        text = self.texts.get(request.path_params["name"])
        if text is None:
            return PlainTextResponse("no such file\n", status_code=404)
        return Response(text, media_type=KINDS[Path(request.path_params["name"]).suffix])
