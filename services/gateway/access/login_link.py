"""Login with a key that the user types, or by link, `/…?token=…`.

By link it is immediate if the user opened the link, else after a confirmation page.

Another site can send a browser to such a link. Without the confirmation its visitor would be logged in as another user
without noticing, and that user could read what they write (login CSRF).
"""

from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.access.auth import COOKIE_DAYS, Authenticator, Login
from services.gateway.access.origins import check_not_forged, relative_root
from services.gateway.access.quota import LoginThrottle
from services.gateway.access.users import LOCAL_USER, User
from services.gateway.api_errors import ApiError
from services.gateway.rest.page import plain_page
from services.gateway.state import GatewayDep, is_secure

DIRECT_NAVIGATION = (
    "none",
    "same-origin",
)  # Sec-Fetch-Site of a URL typed, pasted, or clicked in another program or on our page
FORM_HEADERS = {
    "Referrer-Policy": "strict-origin"
}  # keeps the token out of Referer; with no-referrer the form would send no Origin

LOGIN_FORM = '<form method="post" action="./login">'

router = APIRouter()


class LoginByLink:
    """`GET /…?token=…` logs in and redirects to the URL without the token, which would stay in browser histories."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, login_throttle: LoginThrottle) -> None:
        self._app, self._authenticator, self._login_throttle = app, authenticator, login_throttle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_token = scope["type"] == "http" and scope["method"] == "GET" and b"token=" in scope["query_string"]
        if not has_token or scope["path"].startswith("/api/"):
            await self._app(scope, receive, send)
            return
        await self._respond(Request(scope))(scope, receive, send)

    def _respond(self, request: Request) -> Response:
        pairs = parse_qsl(request.url.query, keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path, token = quote(request.url.path).lstrip("/\\"), dict(pairs).get("token", "")
        target = f"{path}?{rest}" if rest else path
        if self._authenticator.is_open:
            return _redirect(request, target)
        try:
            login = _login(self._authenticator, self._login_throttle, request, token)
        except ApiError as refused:
            return _failed_login_page(request, refused, target)
        present = _current_user(self._authenticator, request)
        if request.headers.get("sec-fetch-site") in DIRECT_NAVIGATION and present in (None, login.user):
            return _login_response(self._authenticator, request, login, target)
        text = _confirm_text(login.user, present, target, token)
        return plain_page(text, request.url.path, headers=FORM_HEADERS)


@router.post("/login", include_in_schema=False)
async def log_in(request: Request, here: GatewayDep) -> Response:
    """A confirmed login, or one with a key that was typed. The request must come from our own page."""
    check_not_forged(request, here.settings.parley_allowed_origins, cookie=True)
    form = dict(parse_qsl((await request.body()).decode(errors="replace")))
    token, target = form.get("token", "").strip(), form.get("next", "")
    if here.authenticator.is_open:
        return _redirect(request, target)
    try:
        login = _login(here.authenticator, here.login_throttle, request, token)
    except ApiError as refused:
        return _failed_login_page(request, refused, target)
    return _login_response(here.authenticator, request, login, target)


def _login(authenticator: Authenticator, login_throttle: LoginThrottle, request: Request, token: str) -> Login:
    """The login for this token. Raises ApiError (unauthorized, slow_down)."""
    with login_throttle.attempt(request, token):
        return authenticator.login(bearer=token, cookie="")


def _current_user(authenticator: Authenticator, request: Request) -> User | None:
    """The user whose cookie the browser sent; None also if another site linked here, as the cookie is SameSite."""
    try:
        return authenticator.login(
            bearer="", cookie=request.cookies.get(authenticator.cookie_name(secure=is_secure(request)), "")
        ).user
    except ApiError:
        return None


def _redirect(request: Request, target: str) -> RedirectResponse:
    """A redirect to this page of Parley. It never leaves this host."""
    return RedirectResponse(relative_root(request.url.path) + target.lstrip("/\\"), status_code=303)


def _login_response(authenticator: Authenticator, request: Request, login: Login, target: str) -> Response:
    answer, secure = _redirect(request, target), is_secure(request)
    answer.set_cookie(
        authenticator.cookie_name(secure=secure),
        authenticator.new_cookie(login),
        max_age=COOKIE_DAYS * 86_400,
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    return answer


def _confirm_text(user: User, present: User | None, target: str, token: str) -> str:
    name = "" if user == LOCAL_USER else f" as <bdi>{escape(user.id)}</bdi>"
    now = "" if present in (None, user) else f" You are logged in as <bdi>{escape(present.id)}</bdi> now."
    return f"""Log in to Parley{name}?{now}</p>
{LOGIN_FORM}<input type="hidden" name="token" value="{escape(token)}">
<input type="hidden" name="next" value="{escape(target)}"><button>Log in{name}</button>
<a href="./{escape(target)}">Cancel</a></form>
<p class="note">If you did not expect this question, cancel: what you write could be read by whoever sent you here."""


def _failed_login_page(request: Request, error: ApiError, target: str) -> HTMLResponse:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    words = (
        f"{error.message} {error.hint}" if error.retry_after else "This key is not valid, or this login has expired."
    )
    text = f"""{words}</p>{LOGIN_FORM}<input type="hidden" name="next" value="{escape(target)}">
<input type="password" name="token" aria-label="Key" placeholder="Key" autocomplete="current-password" required>
<button>Log in</button></form><p class="note">Whoever runs this Parley gives out its keys."""
    return plain_page(text, request.url.path, error.status, FORM_HEADERS | headers)
