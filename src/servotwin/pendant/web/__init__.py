"""What the pages of viewer and pendant share: who may ask, what a browser may load, how a page is served and ended.

keys = Keys()                                   # random, one for each role
files = Files.of(Path(__file__).with_name("page"), "page.js", "page.css", **{"scene.js": scene_script()})
app = Starlette(routes=[Route("/", page), WebSocketRoute("/ws", socket), files.route()])
with serve(app, keys) as served:                # loopback, a free port
    served.open_browser()
    served.wait()
"""

from __future__ import annotations

from servotwin.pendant.web.guard import Guard, Limits
from servotwin.pendant.web.keys import Keys
from servotwin.pendant.web.pages import Files, html_page, nonce_of, role_of
from servotwin.pendant.web.serving import Served, check_packages, serve

__all__ = [
    "Files",
    "Guard",
    "Keys",
    "Limits",
    "Served",
    "check_packages",
    "html_page",
    "nonce_of",
    "role_of",
    "serve",
]
