"""Login by a link, `/…?token=…`: at once where the person opened it, else after a yes on a page of ours.

A page elsewhere can lead a browser to such a link. Done at once, its visitor would go on as somebody else without
noticing, and what they write would be the other's to read.
"""

from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.access.auth import COOKIE_DAYS, Door, Login
from services.gateway.access.limits import Guesses
from services.gateway.access.origins import check_not_forged
from services.gateway.access.users import LOCAL, User
from services.gateway.rest.page import plain
from services.gateway.state import Here, is_secure
from services.gateway.trouble import Trouble

BY_HAND = ("none", "same-origin")  # Sec-Fetch-Site: typed, pasted, or clicked in another program or on our page
ASKS = {"Referrer-Policy": "strict-origin"}  # no token in Referer; with no-referrer the form would name no Origin

router = APIRouter()


class LoginByLink:
    """`GET /…?token=…` logs in and leads to the same URL without the token, which would stay in histories."""

    def __init__(self, app: ASGIApp, door: Door, guesses: Guesses) -> None:
        self._app, self._door, self._guesses = app, door, guesses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "GET" and b"token=" in scope["query_string"]
        if not wanted or scope["path"].startswith("/api/"):
            await self._app(scope, receive, send)
            return
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        pairs = parse_qsl(request.url.query, keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path, token = "/" + quote(request.url.path).lstrip("/\\"), dict(pairs).get("token", "")
        target = f"{path}?{rest}" if rest else path
        if self._door.open:
            return _leads_to(target)
        try:
            login = _login(self._door, self._guesses, request, token)
        except Trouble as refused:
            return _not_in(refused)
        present = _present(self._door, request)
        if request.headers.get("sec-fetch-site") in BY_HAND and present in (None, login.user):
            return _logged_in(self._door, request, login, target)
        return plain(_question(login.user, present, target, token), headers=ASKS)


@router.post("/login", include_in_schema=False)
async def log_in(request: Request, here: Here) -> Response:
    """The yes to that question. It must come from our own page."""
    check_not_forged(request, here.settings.parley_allowed_origins, cookie=True)
    form = dict(parse_qsl((await request.body()).decode(errors="replace")))
    token, target = form.get("token", ""), form.get("next", "/")
    if here.door.open:
        return _leads_to(target)
    try:
        login = _login(here.door, here.guesses, request, token)
    except Trouble as refused:
        return _not_in(refused)
    return _logged_in(here.door, request, login, target)


def _login(door: Door, guesses: Guesses, request: Request, token: str) -> Login:
    """Whoever this token stands for. Raises Trouble (unauthorized, slow_down)."""
    with guesses.attempt(request, token):
        return door.login(bearer=token, cookie="")


def _present(door: Door, request: Request) -> User | None:
    """Whom this browser is logged in as; a browser does not say so where another site has led it here."""
    try:
        return door.login(bearer="", cookie=request.cookies.get(door.cookie(secure=is_secure(request)), "")).user
    except Trouble:
        return None


def _leads_to(target: str) -> RedirectResponse:
    """Never to another host."""
    return RedirectResponse("/" + target.lstrip("/\\"), status_code=303)


def _logged_in(door: Door, request: Request, login: Login, target: str) -> Response:
    answer, secure = _leads_to(target), is_secure(request)
    answer.set_cookie(
        door.cookie(secure=secure),
        door.sign(login),
        max_age=COOKIE_DAYS * 86_400,
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    return answer


def _question(user: User, present: User | None, target: str, token: str) -> str:
    name = "" if user == LOCAL else f" as <bdi>{escape(user.id)}</bdi>"
    now = "" if present in (None, user) else f" You are logged in as <bdi>{escape(present.id)}</bdi> now."
    return f"""Log in to Parley{name}?{now}</p>
<form method="post" action="/login"><input type="hidden" name="token" value="{escape(token)}">
<input type="hidden" name="next" value="{escape(target)}"><button>Log in{name}</button>
<a href="{escape(target)}">Cancel</a></form>
<p class="note">If you did not expect this question, cancel: what you write could be read by whoever sent you here."""


def _not_in(refused: Trouble) -> HTMLResponse:
    if refused.retry_after:
        return plain(f"{refused.message} {refused.hint}", refused.status, {"Retry-After": str(refused.retry_after)})
    words = "This login is not valid (any more). Open the address that <code>parley up</code> printed, or ask for one."
    return plain(words, refused.status)
